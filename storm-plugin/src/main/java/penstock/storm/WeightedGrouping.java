package penstock.storm;

import java.util.List;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * Divides a stream among the tasks of its target by the shares of the plan, and by new ones when the plan changes.
 *
 * <p>{@code builder.setBolt("mid", …).customGrouping("low", new WeightedGrouping())}. The plan is read where
 * {@code penstock.shares.file} says: a path on every worker's machine, or the local name of a blob in
 * {@code topology.blobstore.map}, which Storm brings to the workers and keeps up to date. Without shares, the
 * stream is divided evenly. See {@link TaskShares}.
 */
public final class WeightedGrouping implements CustomStreamGrouping {
    /** Where workers find the plan. */
    public static final String FILE = "penstock.shares.file";

    private static final long serialVersionUID = 1L;
    /** The golden ratio as a fraction of 2^64: its multiples fill the circle as evenly as can be. */
    private static final long STEP = 0x9E3779B97F4A7C15L;

    private transient volatile Table table;
    private transient long position;

    /** Tasks and the part of the circle each of them ends at, unsigned. */
    private record Table(List<List<Integer>> tasks, long[] ends) {
        List<Integer> at(long position) {
            int low = 0;
            int high = ends.length - 1;
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (Long.compareUnsigned(position, ends[middle]) < 0) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            return tasks.get(low);
        }
    }

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targets) {
        // Sources begin at different points, so that they do not march in step.
        position = context.getThisWorkerPort() * STEP + stream.hashCode() * 0x9E3779B1L;
        if (targets.isEmpty()) {
            return;
        }
        List<List<Integer>> tasks = targets.stream().map(List::of).toList();
        String target = context.getComponentId(targets.get(0));
        TaskShares.follow(
                context.getConf(), context.getStormId(), target, tasks.size(),
                shares -> table = new Table(tasks, ends(shares)));
    }

    private static long[] ends(double[] shares) {
        double whole = java.util.Arrays.stream(shares).sum();
        long[] ends = new long[shares.length];
        double sum = 0;
        for (int i = 0; i < shares.length; i++) {
            sum += shares[i];
            ends[i] = unsigned(sum / whole);
        }
        // The last part that is not empty reaches to the end, whatever rounding left.
        for (int i = shares.length - 1; i >= 0; i--) {
            ends[i] = -1L;
            if (shares[i] > 0) {
                break;
            }
        }
        return ends;
    }

    private static long unsigned(double fraction) {
        double scaled = Math.min(Math.max(fraction, 0), 1) * 0x1p64;
        return scaled >= 0x1p64 ? -1L : scaled >= 0x1p63 ? (long) (scaled - 0x1p63) + Long.MIN_VALUE : (long) scaled;
    }

    @Override
    public List<Integer> chooseTasks(int source, List<Object> values) {
        position += STEP;
        return table.at(position);
    }
}
