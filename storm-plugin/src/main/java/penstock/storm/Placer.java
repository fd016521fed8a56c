package penstock.storm;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * Decides where the executors of one planned topology go; touches nothing.
 *
 * <p>With nothing assigned (a new topology, a rebalance) the whole plan is followed. With some assigned, those
 * stay and only the lost ones are placed: on their planned machine if it is there, else where the
 * contingency of the lost machine says. So a machine that comes back gets nothing until a rebalance. What
 * neither settles (two machines lost at once, an instance the plan would drop) joins the worker with the
 * fewest executors.
 */
final class Placer {
    private final TopologyDetails topology;
    private final Plan plan;
    private final Plan.Topology planned;
    private final Cluster cluster;
    private final Machines machines;
    private final Executors match;
    private final Map<ExecutorDetails, WorkerSlot> now;
    private final Workers workers;

    Placer(
            TopologyDetails topology,
            Plan plan,
            Cluster cluster,
            Machines machines,
            Map<ExecutorDetails, WorkerSlot> before)
            throws PlanException {
        this.topology = topology;
        this.plan = plan;
        this.planned = plan.topologies().get(topology.getName());
        this.cluster = cluster;
        this.machines = machines;
        this.match = Executors.match(topology, planned);
        SchedulerAssignment assignment = cluster.getAssignmentById(topology.getId());
        this.now = assignment == null ? Map.of() : assignment.getExecutorToSlot();
        this.workers = new Workers(cluster, now, before);
    }

    Decision decide() throws PlanException {
        Set<String> lost = lost();
        if (cluster.getUnassignedExecutors(topology).isEmpty() && !anyMovesAway(lost)) {
            return Decision.nothing(standing(lost));
        }
        while (true) {
            try {
                return decide(lost);
            } catch (Workers.NoRoom full) {
                String machine = nameOf(full.supervisor);
                String why = "machine " + machine + " has no free slot for a worker of the plan";
                if (cluster.getUnassignedExecutors(topology).isEmpty()) {
                    return Decision.nothing(standing(lost) + "; its contingency waits: " + why);
                }
                // Of a topology that runs, the executors must go somewhere: the machine is as good as lost.
                if (now.isEmpty() || !lost.add(machine)) {
                    throw new PlanException(why);
                }
            }
        }
    }

    /** Machines the plan uses or has a contingency for that are not there. */
    private Set<String> lost() throws PlanException {
        Set<String> lost = new LinkedHashSet<>();
        Set<String> names = machinesOfPlan();
        names.addAll(planned.ifLost().keySet());
        for (String machine : names) {
            if (machines.find(machine) == null) {
                lost.add(machine);
            }
        }
        return lost;
    }

    private Set<String> machinesOfPlan() {
        Set<String> names = new LinkedHashSet<>();
        planned.components().values().forEach(places -> places.forEach(place -> names.add(place.machine())));
        return names;
    }

    private boolean anyMovesAway(Set<String> lost) throws PlanException {
        if (lost.isEmpty()) {
            return false;
        }
        for (ExecutorDetails executor : match.instances.keySet()) {
            if (movesAway(executor, lost)) {
                return true;
            }
        }
        return false;
    }

    /** How a topology that lacks nothing stands to the plan. */
    private String standing(Set<String> lost) throws PlanException {
        int elsewhere = elsewhere();
        if (elsewhere == 0) {
            return "placed as plan " + plan.id() + " says";
        }
        String why = lost.isEmpty() ? "; a rebalance moves them" : ": lost " + String.join(", ", lost);
        return elsewhere + " executors are not where plan " + plan.id() + " has them" + why;
    }

    private Plan.Place placeOf(ExecutorDetails executor) {
        Plan.Instance instance = match.instances.get(executor);
        return instance == null ? null : planned.components().get(instance.component()).get(instance.index());
    }

    /** Executors on another machine than the plan's. */
    private int elsewhere() throws PlanException {
        int count = 0;
        for (ExecutorDetails executor : match.instances.keySet()) {
            SupervisorDetails there = machines.find(placeOf(executor).machine());
            if (there == null || !there.getId().equals(now.get(executor).getNodeId())) {
                count++;
            }
        }
        return count;
    }

    private Decision decide(Set<String> lost) throws PlanException, Workers.NoRoom {
        Map<ExecutorDetails, Plan.Place> targets = new LinkedHashMap<>();
        List<ExecutorDetails> unsettled = new ArrayList<>();
        for (ExecutorDetails executor : match.instances.keySet()) {
            if (now.containsKey(executor) && !movesAway(executor, lost)) {
                continue;
            }
            Plan.Place place = settle(executor, lost);
            if (place == null) {
                unsettled.add(executor);
            } else {
                targets.put(executor, place);
            }
        }
        match.extra.stream().filter(executor -> !now.containsKey(executor)).forEach(unsettled::add);

        return workers.changes(grouped(targets, unsettled), status(lost, unsettled));
    }

    /** The workers as they are to be: those that run, and new ones where the plan has more. */
    private List<Workers.Worker> grouped(Map<ExecutorDetails, Plan.Place> targets, List<ExecutorDetails> unsettled)
            throws PlanException {
        Map<WorkerSlot, Workers.Worker> running = workers.running(targets.keySet());
        Map<String, Workers.Worker> byPlan = numbered(running);
        List<Workers.Worker> all = new ArrayList<>(running.values());
        for (Map.Entry<ExecutorDetails, Plan.Place> target : targets.entrySet()) {
            Plan.Place place = target.getValue();
            Workers.Worker worker = byPlan.get(key(place));
            if (worker == null) {
                worker = new Workers.Worker(machines.find(place.machine()).getId(), null);
                byPlan.put(key(place), worker);
                all.add(worker);
            }
            worker.executors.add(target.getKey());
        }
        all.removeIf(worker -> worker.executors.isEmpty());
        if (all.isEmpty()) {
            throw new PlanException("none of the plan's machines is there");
        }
        for (ExecutorDetails executor : unsettled) {
            all.stream().min(Comparator.comparingInt(worker -> worker.executors.size())).get().executors.add(executor);
        }
        return all;
    }

    /** Whether a contingency moves an executor that runs on a machine which is still there. */
    private boolean movesAway(ExecutorDetails executor, Set<String> lost) throws PlanException {
        Plan.Place home = placeOf(executor);
        if (lost.contains(home.machine()) || moved(executor, lost) == null) {
            return false;
        }
        // Only from its planned place: what was moved before stays.
        return machines.find(home.machine()).getId().equals(now.get(executor).getNodeId());
    }

    private Plan.Place settle(ExecutorDetails executor, Set<String> lost) {
        Plan.Place home = placeOf(executor);
        Plan.Place away = moved(executor, lost);
        if (away != null) {
            return away;
        }
        return lost.contains(home.machine()) ? null : home;
    }

    /** Where the contingency of a lost machine puts an executor; null if none speaks of it. */
    private Plan.Place moved(ExecutorDetails executor, Set<String> lost) {
        if (lost.isEmpty()) {
            return null;
        }
        Plan.Instance instance = match.instances.get(executor);
        String home = placeOf(executor).machine();
        List<String> asked = new ArrayList<>();
        // The loss of its own machine says more than the loss of another.
        if (lost.contains(home)) {
            asked.add(home);
        } else {
            asked.addAll(lost);
        }
        for (String machine : asked) {
            Plan.Contingency contingency = planned.ifLost().get(machine);
            Plan.Place place = contingency == null ? null : contingency.moves().get(instance);
            if (place != null && !lost.contains(place.machine()) && isThere(place.machine())) {
                return place;
            }
        }
        return null;
    }

    private boolean isThere(String machine) {
        try {
            return machines.find(machine) != null;
        } catch (PlanException ambiguous) {
            return false;
        }
    }

    /** Which running worker is which of the plan: the one that holds most of its executors. */
    private Map<String, Workers.Worker> numbered(Map<WorkerSlot, Workers.Worker> running) throws PlanException {
        Map<Workers.Worker, Map<String, Integer>> common = new LinkedHashMap<>();
        for (Workers.Worker worker : running.values()) {
            for (ExecutorDetails executor : worker.executors) {
                Plan.Place place = placeOf(executor);
                if (place == null) {
                    continue;
                }
                SupervisorDetails there = machines.find(place.machine());
                if (there != null && there.getId().equals(worker.supervisor)) {
                    common.computeIfAbsent(worker, w -> new HashMap<>()).merge(key(place), 1, Integer::sum);
                }
            }
        }
        record Pair(Workers.Worker worker, String key, int count) {}
        List<Pair> pairs = new ArrayList<>();
        common.forEach((worker, keys) -> keys.forEach((key, count) -> pairs.add(new Pair(worker, key, count))));
        pairs.sort(Comparator.comparingInt((Pair pair) -> -pair.count()).thenComparing(Pair::key));
        Map<String, Workers.Worker> byPlan = new HashMap<>();
        Set<Workers.Worker> taken = new HashSet<>();
        for (Pair pair : pairs) {
            if (!byPlan.containsKey(pair.key()) && taken.add(pair.worker())) {
                byPlan.put(pair.key(), pair.worker());
            }
        }
        return byPlan;
    }

    private static String key(Plan.Place place) {
        return place.machine() + "\n" + place.slot();
    }

    private String nameOf(String supervisor) throws PlanException {
        Collection<String> names = new LinkedHashSet<>(machinesOfPlan());
        planned.ifLost().values().forEach(lost -> lost.moves().values().forEach(place -> names.add(place.machine())));
        for (String machine : names) {
            SupervisorDetails there = machines.find(machine);
            if (there != null && there.getId().equals(supervisor)) {
                return machine;
            }
        }
        return supervisor;
    }

    private String status(Set<String> lost, List<ExecutorDetails> unsettled) {
        StringBuilder text = new StringBuilder("placed by plan ").append(plan.id());
        if (!lost.isEmpty()) {
            text.append(" and its contingency for ").append(String.join(", ", lost));
        }
        long own = unsettled.stream().filter(match.instances::containsKey).count();
        if (own > 0) {
            text.append("; ").append(own).append(" executors the plan does not settle joined the smallest workers");
        }
        return text.toString();
    }
}
