package penstock.storm;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.utils.ReflectionUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Places executors as a plan file says, and leaves everything else to Storm's own scheduler.
 *
 * <p>Named by {@code storm.scheduler}. A topology the plan does not name, or whose plan cannot be followed, goes to
 * {@code penstock.fallback.scheduler} in the same round. Nothing that runs is moved unless executors are
 * without a place: a new plan takes effect with a rebalance. Nothing is thrown, whatever a plan says.
 */
public final class PlanScheduler implements IScheduler {
    /** Class of the scheduler for all that is not planned. */
    public static final String FALLBACK = "penstock.fallback.scheduler";

    /** Whether a plan also holds for later submissions of its topology under the same name. */
    public static final String FOLLOW_RESUBMITTED = "penstock.follow.resubmitted";

    /** How every status line of ours begins. */
    private static final String SAID_BY_US = "penstock: ";

    static final String DEFAULT_FALLBACK = "org.apache.storm.scheduler.DefaultScheduler";
    private static final Logger LOG = LoggerFactory.getLogger(PlanScheduler.class);

    private PlanSource source;
    private IScheduler fallback;
    private boolean followResubmitted;
    /** Where the executors of planned topologies were at the end of the last round, by topology id. */
    private Map<String, Map<ExecutorDetails, WorkerSlot>> before = new HashMap<>();

    @Override
    public void prepare(Map<String, Object> conf, StormMetricsRegistry metrics) {
        Object name = conf.get(FALLBACK);
        fallback = ReflectionUtils.newInstance(name == null ? DEFAULT_FALLBACK : name.toString());
        fallback.prepare(conf, metrics);
        source = new PlanSource(conf);
        followResubmitted = followsResubmitted(conf);
    }

    /** As text too: a setting in quotes must not keep Nimbus from starting. */
    static boolean followsResubmitted(Map<String, Object> conf) {
        return "true".equalsIgnoreCase(String.valueOf(conf.get(FOLLOW_RESUBMITTED)));
    }

    @Override
    public Map<?, ?> config() {
        return fallback.config();
    }

    @Override
    public void cleanup() {
        fallback.cleanup();
    }

    @Override
    public void nodeAssignmentSent(String node, boolean successful) {
        fallback.nodeAssignmentSent(node, successful);
    }

    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        Map<String, String> statuses = new LinkedHashMap<>();
        Set<String> placed = new LinkedHashSet<>();
        try {
            followPlan(topologies, cluster, placed, statuses);
        } catch (Exception | LinkageError error) {
            LOG.error("penstock: all topologies not placed yet go to Storm's own scheduler", error);
        }
        try {
            fallBack(topologies, cluster, placed);
        } catch (Exception | LinkageError error) {
            LOG.error("penstock: the fallback scheduler failed", error);
        }
        forgetOld(topologies, cluster);
        statuses.forEach((id, status) -> tell(cluster, id, status, placed.contains(id)));
    }

    /** Nimbus hands every round what was said in the one before; what we said then is not Storm's word now. */
    private static void forgetOld(Topologies topologies, Cluster cluster) {
        for (TopologyDetails topology : topologies) {
            String status = cluster.getStatus(topology.getId());
            if (status != null && status.startsWith(SAID_BY_US)) {
                cluster.setStatus(topology.getId(), "");
            }
        }
    }

    private void followPlan(Topologies topologies, Cluster cluster, Set<String> placed, Map<String, String> statuses) {
        PlanFile.Known known = source.look();
        Plan plan = known.plan();
        Map<String, Map<ExecutorDetails, WorkerSlot>> after = new HashMap<>();
        if (plan == null) {
            topologies.forEach(topology -> statuses.put(topology.getId(), known.trouble()));
            before = after;
            return;
        }
        Machines machines = new Machines(cluster, plan.hosts());
        String trouble = known.trouble().isEmpty() ? "" : "; " + known.trouble();
        // In the plan's order: where two topologies want one slot, the same one gets it every time.
        for (String name : plan.topologies().keySet()) {
            TopologyDetails topology = topologies.getByName(name);
            if (topology == null) {
                continue;
            }
            String id = topology.getId();
            try {
                if (!followResubmitted) {
                    Executors.refuseStale(topology, plan.topologies().get(name));
                }
                Map<ExecutorDetails, WorkerSlot> last = before.getOrDefault(id, Map.of());
                Decision decision = new Placer(topology, plan, cluster, machines, last).decide();
                carryOut(decision, topology, cluster);
                placed.add(id);
                statuses.put(id, decision.status() + trouble);
            } catch (PlanException | RuntimeException refused) {
                String why = refused instanceof PlanException ? refused.getMessage() : refused.toString();
                statuses.put(id, why + trouble);
            }
            SchedulerAssignment assignment = cluster.getAssignmentById(id);
            after.put(id, assignment == null ? Map.of() : Map.copyOf(assignment.getExecutorToSlot()));
        }
        before = after;
    }

    /** Does what was decided, all of it or nothing. */
    private static void carryOut(Decision decision, TopologyDetails topology, Cluster cluster) {
        if (!decision.changes()) {
            return;
        }
        SchedulerAssignment old = cluster.getAssignmentById(topology.getId());
        Map<WorkerSlot, Collection<ExecutorDetails>> running =
                old == null ? Map.of() : new HashMap<>(old.getSlotToExecutors());
        try {
            cluster.freeSlots(decision.freed());
            decision.assigned().forEach((slot, executors) -> cluster.assign(slot, topology.getId(), executors));
        } catch (RuntimeException error) {
            cluster.unassign(topology.getId());
            running.forEach((slot, executors) -> cluster.assign(slot, topology.getId(), executors));
            throw error;
        }
    }

    /** Storm's own scheduler for the rest, on a copy in which planned topologies want nothing. */
    private void fallBack(Topologies topologies, Cluster cluster, Set<String> placed) {
        if (placed.isEmpty()) {
            fallback.schedule(topologies, cluster);
            return;
        }
        if (placed.containsAll(topologies.getAllIds())) {
            return;
        }
        Map<String, TopologyDetails> seen = new LinkedHashMap<>();
        for (TopologyDetails topology : topologies) {
            seen.put(topology.getId(), placed.contains(topology.getId()) ? content(topology, cluster) : topology);
        }
        Topologies all = new Topologies(seen);
        Cluster copy = new Cluster(cluster, all);
        fallback.schedule(all, copy);
        takeOver(topologies, copy, cluster, placed);
    }

    /** Storm calls a topology in need that has fewer workers than it once asked for; the plan decides that now. */
    private static TopologyDetails content(TopologyDetails topology, Cluster cluster) {
        int workers = cluster.getAssignedNumWorkers(topology);
        return new TopologyDetails(
                topology.getId(),
                topology.getConf(),
                topology.getTopology(),
                workers,
                topology.getExecutorToComponent(),
                topology.getLaunchTime(),
                topology.getTopologySubmitter());
    }

    private static void takeOver(Topologies topologies, Cluster copy, Cluster cluster, Set<String> placed) {
        for (TopologyDetails topology : topologies) {
            if (!placed.contains(topology.getId())) {
                cluster.unassign(topology.getId());
            }
        }
        for (TopologyDetails topology : topologies) {
            String id = topology.getId();
            SchedulerAssignment assignment = copy.getAssignmentById(id);
            if (placed.contains(id) || assignment == null) {
                continue;
            }
            Set<ExecutorDetails> refused = new HashSet<>();
            assignment.getSlotToExecutors().forEach((slot, executors) -> {
                // A scheduler that evicts may have given a planned worker's slot away; the plan keeps it.
                if (cluster.isSlotOccupied(slot)) {
                    refused.addAll(executors);
                } else {
                    cluster.assign(slot, id, executors);
                }
            });
            if (!refused.isEmpty()) {
                LOG.warn("penstock: {} executors of {} wait: their slots belong to planned topologies", refused.size(), id);
            }
        }
        copy.getStatusMap().forEach((id, status) -> {
            if (!placed.contains(id)) {
                cluster.setStatus(id, status);
            }
        });
    }

    private static void tell(Cluster cluster, String id, String status, boolean followed) {
        if (followed) {
            cluster.setStatus(id, SAID_BY_US + status);
            return;
        }
        String own = cluster.getStatus(id);
        String by = own == null || own.isEmpty() ? "" : " (" + own + ")";
        cluster.setStatus(id, SAID_BY_US + "placed by Storm's own scheduler" + by + ", because " + status);
    }
}
