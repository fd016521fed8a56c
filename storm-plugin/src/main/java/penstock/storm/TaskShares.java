package penstock.storm;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.apache.storm.utils.Utils;

/** What part of a component's work each of its tasks gets: its executor's share, divided evenly among its tasks. */
public final class TaskShares {
    private TaskShares() {}

    /**
     * Follows the plan that a topology's settings name, if any: shares in the order of the tasks, now and when they change.
     *
     * @param run Storm's id of this submission: a plan made from another one says nothing about where executors are
     */
    public static void follow(
            Map<String, Object> conf, String run, String component, int tasks, Consumer<double[]> follower) {
        Object file = conf == null ? null : conf.get(WeightedGrouping.FILE);
        if (file == null) {
            follower.accept(of(null, tasks));
            return;
        }
        Object topology = conf.get("topology.name");
        // As in the scheduler, where a supervisor's storm.yaml says it too.
        boolean anyRun = PlanScheduler.followsResubmitted(conf);
        PlanWatch.of(file.toString(), PlanFile.mostBytes(conf)).follow(plan -> {
            Plan.Topology placed = plan == null ? null : plan.topologies().get(topology);
            boolean stale = placed != null && !anyRun && placed.isStaleFor(run);
            follower.accept(of(placed == null || stale ? null : placed.components().get(component), tasks));
        });
    }

    /** Shares of the tasks; even where the plan has none for this component. */
    static double[] of(List<Plan.Place> places, int tasks) {
        double[] shares = new double[tasks];
        if (places == null || places.isEmpty() || places.size() > tasks || places.get(0).share() == null) {
            Arrays.fill(shares, 1.0 / Math.max(1, tasks));
            return shares;
        }
        // As Nimbus deals tasks to executors.
        List<List<Integer>> executors = Utils.partitionFixed(places.size(), IntStream.range(0, tasks).boxed().toList());
        for (int i = 0; i < executors.size(); i++) {
            for (int task : executors.get(i)) {
                shares[task] = places.get(i).share() / executors.get(i).size();
            }
        }
        return shares;
    }
}
