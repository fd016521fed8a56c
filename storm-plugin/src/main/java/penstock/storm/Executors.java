package penstock.storm;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.utils.Utils;

/**
 * The executors of a running topology matched with the instances of its plan, if they match.
 *
 * <p>Instance i of a component is its i-th executor in the order of tasks. Storm's own components (ackers,
 * metrics consumers) may be absent from a plan; they are {@code extra} then.
 */
final class Executors {
    final Map<ExecutorDetails, Plan.Instance> instances = new LinkedHashMap<>();
    final Map<Plan.Instance, ExecutorDetails> executors = new HashMap<>();
    final List<ExecutorDetails> extra = new ArrayList<>();

    private Executors() {}

    /** The match; a topology that is not the plan's is refused with what differs. */
    static Executors match(TopologyDetails topology, Plan.Topology plan) throws PlanException {
        Object version = topology.getConf().get("topology.version");
        // storm.yaml may have it as a number.
        if (plan.version() != null && !plan.version().equals(String.valueOf(version))) {
            throw new PlanException("the plan is for version " + plan.version() + ", this is " + version);
        }
        Map<String, List<ExecutorDetails>> running = byComponent(topology);
        for (String component : plan.components().keySet()) {
            if (!running.containsKey(component) && !plan.components().get(component).isEmpty()) {
                throw new PlanException("the plan is for another version: there is no component " + component);
            }
        }
        Executors match = new Executors();
        for (Map.Entry<String, List<ExecutorDetails>> entry : running.entrySet()) {
            match.add(entry.getKey(), entry.getValue(), plan.components().get(entry.getKey()));
        }
        return match;
    }

    /** Refuses a plan made from another submission: what was measured then may not hold for what runs now. */
    static void refuseStale(TopologyDetails topology, Plan.Topology plan) throws PlanException {
        if (plan.isStaleFor(topology.getId())) {
            throw new PlanException("the plan is for submission " + plan.submission() + ", this is " + topology.getId()
                    + "; plan again");
        }
    }

    private static Map<String, List<ExecutorDetails>> byComponent(TopologyDetails topology) {
        Map<String, List<ExecutorDetails>> running = new TreeMap<>();
        topology.getExecutorToComponent()
                .forEach((executor, component) ->
                        running.computeIfAbsent(component, name -> new ArrayList<>()).add(executor));
        running.values().forEach(executors -> executors.sort(Comparator.comparingInt(ExecutorDetails::getStartTask)));
        return running;
    }

    private void add(String component, List<ExecutorDetails> running, List<Plan.Place> planned) throws PlanException {
        if (planned == null && Utils.isSystemId(component)) {
            extra.addAll(running);
            return;
        }
        if (planned == null) {
            throw new PlanException("the plan is for another version: it has no component " + component);
        }
        if (planned.size() != running.size()) {
            throw new PlanException("the plan has " + planned.size() + " instances of " + component + ", Storm "
                    + running.size() + "; rebalance with -e " + component + "=" + planned.size());
        }
        for (int i = 0; i < running.size(); i++) {
            Plan.Instance instance = new Plan.Instance(component, i);
            instances.put(running.get(i), instance);
            executors.put(instance, running.get(i));
        }
    }
}
