package penstock.storm;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Tuple;

/**
 * Counts every tuple a bolt takes in by the task it came from, so that telemetry knows who talks to whom and how much.
 *
 * <p>Named in {@code topology.auto.task.hooks}. Storm's own counters know the component a tuple came from but not the
 * task. Without this hook the traffic between instances is estimated.
 */
public final class TrafficHook extends BaseTaskHook {
    /** Where tuples came from. */
    record Source(String component, String stream, int task) implements Comparable<Source> {
        private static final Comparator<Source> ORDER = Comparator.comparing(Source::component)
                .thenComparing(Source::stream)
                .thenComparingInt(Source::task);

        @Override
        public int compareTo(Source other) {
            return ORDER.compare(this, other);
        }
    }

    /** What came from a source since the worker began; {@code bytes} is not a number where nobody knows. */
    record Sum(long tuples, double bytes) {
        static final Sum NOTHING = new Sum(0, 0);

        Sum plus(Sum other) {
            return new Sum(tuples + other.tuples, bytes + other.bytes);
        }

        Sum minus(Sum other) {
            return new Sum(tuples - other.tuples, bytes - other.bytes);
        }
    }

    private static final class Adders {
        final LongAdder tuples = new LongAdder();
        final DoubleAdder bytes = new DoubleAdder();

        Sum sum() {
            return new Sum(tuples.sum(), bytes.sum());
        }
    }

    /** By task of this worker; Storm makes hooks and the reporter apart and hands them nothing to share. */
    private static final Map<Integer, Map<Source, Adders>> COUNTS = new ConcurrentHashMap<>();

    private Map<Source, Adders> mine = new ConcurrentHashMap<>();
    private TupleSizes sizes;

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        mine = COUNTS.computeIfAbsent(context.getThisTaskId(), task -> new ConcurrentHashMap<>());
        sizes = new TupleSizes(conf, context);
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        Tuple tuple = info.tuple;
        Source source = new Source(tuple.getSourceComponent(), tuple.getSourceStreamId(), tuple.getSourceTask());
        Adders adders = mine.computeIfAbsent(source, unseen -> new Adders());
        adders.tuples.increment();
        adders.bytes.add(sizes.of(tuple));
    }

    /** What each source sent to a task since the worker began; empty without the hook. */
    static Map<Source, Sum> countsOf(int task) {
        Map<Source, Sum> counts = new HashMap<>();
        COUNTS.getOrDefault(task, Map.of()).forEach((source, count) -> counts.put(source, count.sum()));
        return counts;
    }
}
