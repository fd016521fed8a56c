package penstock.storm.lab;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Works so long on every tuple and passes it on; at a sink, notes its id before it is acked. */
class WorkBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final double cpuMs;
    private final boolean isSink;
    private transient OutputCollector collector;
    private transient Proof seen;

    WorkBolt(double cpuMs, boolean isSink) {
        this.cpuMs = cpuMs;
        this.isSink = isSink;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
        collector = out;
        Object folder = isSink ? conf.get(RateSpout.PROOF) : null;
        seen = Proof.in(folder, "seen", context.getThisComponentId(), context.getThisTaskId());
    }

    @Override
    public void execute(Tuple tuple) {
        if (cpuMs > 0) {
            Work.burn(cpuMs);
        }
        if (isSink) {
            arrived(tuple);
        } else {
            pass(tuple, collector);
        }
        collector.ack(tuple);
    }

    void arrived(Tuple tuple) {
        if (seen != null) {
            seen.add(tuple.getStringByField("id") + " " + tuple.getSourceComponent());
        }
    }

    void pass(Tuple tuple, OutputCollector out) {
        out.emit(tuple, new Values(tuple.getValueByField("id"), tuple.getValueByField("value")));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        if (!isSink) {
            declarer.declare(new Fields("id", "value"));
        }
    }
}
