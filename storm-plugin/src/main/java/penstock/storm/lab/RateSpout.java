package penstock.storm.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import penstock.storm.TaskShares;

/**
 * Emits numbered tuples at a rate that can be changed while it runs: {@code penstock.lab.rate.file} holds tuples/s of all
 * spouts together, as a number or in steps ({@link OfferedLoad}). A tuple that fails is emitted again under its id. Tasks
 * share the rate, and the tuples that may be under way ({@code penstock.lab.pending}, of all spouts together), as the plan
 * says, if it says so.
 *
 * <p>With {@code penstock.lab.source.dir}, what is offered waits until it is taken, as in a broker: nothing is forgotten
 * while a topology pauses or a worker is dead ({@link SourceQueue}), and what waits is a metric.
 * Without, a spout that was held up leaves out what it could not make.
 */
final class RateSpout extends BaseRichSpout {
    static final String RATE = "penstock.lab.rate";
    static final String RATE_FILE = "penstock.lab.rate.file";
    static final String SOURCE = "penstock.lab.source.dir";
    /** Read by the reporter. */
    static final String BACKLOG = "penstock-backlog";
    static final String PENDING = "penstock.lab.pending";
    static final String PROOF = "penstock.lab.proof.dir";
    private static final long serialVersionUID = 1L;
    private static final long LOOK_EVERY_NS = 500_000_000L;
    /** A spout that was held up catches up with this much at most. */
    private static final double MOST_BEHIND_S = 1.0;
    /** What waits is to be taken within so long. */
    private static final double CATCHES_UP_S = 2.0;

    private final double part;
    private final double cpuMs;
    private transient SpoutOutputCollector collector;
    private transient Map<String, Long> pending;
    private transient Queue<String> failed;
    private transient Proof acked;
    private transient Path rateFile;
    private transient String prefix;
    private transient OfferedLoad load;
    /** Null where nothing waits. */
    private transient SourceQueue source;
    private transient double due;
    private transient long lastNs;
    private transient long lookedNs;
    private transient long number;
    private transient double mostPending;
    /** Of what this component makes; the plan may change it. */
    private transient volatile double share;

    /**
     * A spout that makes a part of the topology's tuples.
     *
     * @param part of the rate of all spouts
     * @param cpuMs CPU time that each tuple takes
     */
    RateSpout(double part, double cpuMs) {
        this.part = part;
        this.cpuMs = cpuMs;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
        collector = out;
        pending = new HashMap<>();
        failed = new ArrayDeque<>();
        String component = context.getThisComponentId();
        int tasks = context.getComponentTasks(component).size();
        TaskShares.follow(
                conf, context.getStormId(), component, tasks, shares -> share = shares[context.getThisTaskIndex()]);
        mostPending = conf.get(PENDING) instanceof Number most ? most.doubleValue() : Double.POSITIVE_INFINITY;
        acked = Proof.in(conf.get(PROOF), "acked", component, context.getThisTaskId());
        rateFile = conf.get(RATE_FILE) == null ? null : Path.of(conf.get(RATE_FILE).toString());
        load = conf.get(RATE) instanceof Number rate ? OfferedLoad.of(rate.toString(), clockS()) : OfferedLoad.NOTHING;
        if (conf.get(SOURCE) != null) {
            source = SourceQueue.in(Path.of(conf.get(SOURCE).toString()), component, tasks, context.getThisTaskIndex());
            source.giveBack();
            lookAtRate();
            context.registerGauge(BACKLOG, () -> Math.max(0, waiting(clockS())) * share);
        }
        // A spout that starts again must not use the ids of the one before.
        prefix = context.getThisTaskId() + "." + System.currentTimeMillis() + ".";
        lastNs = System.nanoTime();
        lookedNs = lastNs - LOOK_EVERY_NS;
    }

    @Override
    public void nextTuple() {
        long now = System.nanoTime();
        if (now - lookedNs >= LOOK_EVERY_NS) {
            lookedNs = now;
            lookAtRate();
        }
        double clockS = clockS();
        double waiting = source == null ? Double.POSITIVE_INFINITY : waiting(clockS);
        double wanted = load.perS(clockS) * part + (source == null ? 0 : Math.max(0, waiting) / CATCHES_UP_S);
        double perS = wanted * share;
        due = Math.min(due + (now - lastNs) / 1e9 * perS, Math.max(1, perS * MOST_BEHIND_S));
        lastNs = now;
        if (!failed.isEmpty()) {
            emit(failed.poll());
        } else if (due >= 1 && waiting >= 1 && pending.size() < Math.max(1, mostPending * part * share)) {
            due -= 1;
            if (source != null) {
                source.take();
            }
            emit(prefix + number++);
        }
    }

    private static double clockS() {
        return System.currentTimeMillis() / 1e3;
    }

    /** Tuples of this component that were offered and not taken yet. */
    private double waiting(double nowS) {
        return load.until(nowS) * part - source.taken();
    }

    private void lookAtRate() {
        if (rateFile == null) {
            return;
        }
        try {
            double writtenS = Files.getLastModifiedTime(rateFile).toMillis() / 1e3;
            OfferedLoad read = OfferedLoad.of(Files.readString(rateFile), writtenS);
            load = read == null ? load : read;
        } catch (IOException unreadable) {
            // Somebody is writing it; the old rate holds until the next look.
        }
    }

    private void emit(String id) {
        if (cpuMs > 0) {
            Work.burn(cpuMs);
        }
        long sequence = Long.parseLong(id.substring(id.lastIndexOf('.') + 1));
        pending.put(id, sequence);
        collector.emit(new Values(id, Sentences.of(sequence)), id);
    }

    @Override
    public void ack(Object id) {
        if (pending.remove(id) != null && source != null) {
            source.ack();
        }
        if (acked != null) {
            acked.add(id.toString());
        }
    }

    @Override
    public void fail(Object id) {
        if (pending.containsKey(id)) {
            failed.add(id.toString());
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("id", "value"));
    }
}
