package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

class TupleSizesTest {
    private final Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
    private final GeneralTopologyContext context = context();

    private GeneralTopologyContext context() {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("src", new org.apache.storm.testing.TestWordSpout(), 1);
        StormTopology topology = builder.createTopology();
        return new GeneralTopologyContext(
                topology,
                conf,
                Map.of(1, "src"),
                Map.of("src", List.of(1)),
                Map.of("src", Map.of("default", new Fields("word"))),
                "t-1-1");
    }

    private Tuple tuple(Object value) {
        return new TupleImpl(context, List.of(value), "src", 1, "default");
    }

    @Test
    void aTupleIsAsLargeAsStormWouldSendIt() {
        Tuple tuple = tuple("x".repeat(1000));
        int sent = new KryoTupleSerializer(conf, context).serialize(tuple).length;
        assertTrue(sent > 1000);
        assertEquals(sent, new TupleSizes(conf, context).of(tuple), 1e-9);
    }

    @Test
    void onlyAFewAreLookedAt() {
        TupleSizes sizes = new TupleSizes(conf, context);
        double first = sizes.of(tuple("x".repeat(100)));
        for (int i = 0; i < 1500; i++) {
            // The thousandth comes within the same second, so none of these is looked at.
            assertEquals(first, sizes.of(tuple("x".repeat(5000))), 1e-9);
        }
    }

    @Test
    void whatCannotBeSerializedHasNoSizeAndStopsNothing() {
        conf.put("topology.fall.back.on.java.serialization", false);
        conf.put("topology.kryo.register", List.of());
        TupleSizes sizes = new TupleSizes(conf, context);
        assertEquals(Double.NaN, sizes.of(tuple(new Thread())));
        assertEquals(Double.NaN, sizes.of(tuple("fine")));
    }
}
