package penstock.storm.lab;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** A sentence to its words. */
final class SplitBolt extends WorkBolt {
    private static final long serialVersionUID = 1L;

    SplitBolt() {
        super(0, false);
    }

    @Override
    void pass(Tuple tuple, OutputCollector out) {
        for (String word : tuple.getStringByField("value").split(" ")) {
            out.emit(tuple, new Values(tuple.getValueByField("id"), word));
        }
    }
}
