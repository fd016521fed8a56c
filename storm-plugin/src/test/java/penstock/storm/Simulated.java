package penstock.storm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.INimbus;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SchedulerAssignmentImpl;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.testing.TestWordCounter;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.utils.Utils;

/** A cluster without Storm around it: supervisors, topologies, and rounds of scheduling. */
final class Simulated {
    static final Path FIXTURES = Path.of("..", "tests", "fixtures", "storm-plan");
    private static final Map<String, Object> CONF = Map.copyOf(present(Utils.readDefaultConfig()));

    final Map<String, SupervisorDetails> supervisors = new LinkedHashMap<>();
    final List<TopologyDetails> topologies = new ArrayList<>();
    Map<String, SchedulerAssignment> assignments = new HashMap<>();
    Map<String, String> statuses = new HashMap<>();

    private static Map<String, Object> present(Map<String, Object> conf) {
        Map<String, Object> kept = new HashMap<>(conf);
        kept.values().removeIf(value -> value == null);
        return kept;
    }

    static Map<String, Object> conf(Path plan) {
        Map<String, Object> conf = new HashMap<>(CONF);
        conf.put(PlanSource.FILE, plan.toString());
        return conf;
    }

    static PlanScheduler scheduler(Path plan) {
        return scheduler(conf(plan));
    }

    static PlanScheduler scheduler(Map<String, Object> conf) {
        PlanScheduler scheduler = new PlanScheduler();
        scheduler.prepare(conf, new StormMetricsRegistry());
        return scheduler;
    }

    static String text(String fixture) {
        try {
            return Files.readString(FIXTURES.resolve(fixture), StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Supervisors named in their metadata, as those of the fixtures. */
    Simulated machines(int slots, String... names) {
        for (int i = 0; i < names.length; i++) {
            machine("id-" + names[i], "127.0.0." + (11 + i), Map.of("machine", names[i]), slots);
        }
        return this;
    }

    void machine(String id, String host, Object meta, int slots) {
        Set<Integer> ports = new TreeSet<>();
        for (int port = 0; port < slots; port++) {
            ports.add(6700 + port);
        }
        Map<String, Double> resources = Map.of("supervisor.cpu.capacity", 400.0, "supervisor.memory.capacity.mb", 4096.0);
        supervisors.put(id, new SupervisorDetails(id, host, meta, ports, resources));
    }

    /** A topology whose components have so many executors, one task each. */
    TopologyDetails topology(String name, Map<String, Integer> executors) {
        return topology(name, executors, 1, Map.of());
    }

    TopologyDetails topology(String name, Map<String, Integer> executors, int workers, Map<String, Object> settings) {
        Map<ExecutorDetails, String> named = new LinkedHashMap<>();
        int task = 1;
        for (Map.Entry<String, Integer> entry : new TreeMap<>(executors).entrySet()) {
            for (int i = 0; i < entry.getValue(); i++, task++) {
                named.put(new ExecutorDetails(task, task), entry.getKey());
            }
        }
        Map<String, Object> conf = new HashMap<>(CONF);
        conf.putAll(settings);
        conf.put("topology.name", name);
        StormTopology code = code(new TreeMap<>(executors).keySet());
        TopologyDetails details = new TopologyDetails(name + "-1-100", conf, code, workers, named, 100, "somebody");
        topologies.removeIf(other -> other.getName().equals(name));
        topologies.add(details);
        return details;
    }

    /** A spout that feeds all the others; Storm adds its own components itself. */
    private static StormTopology code(Set<String> components) {
        TopologyBuilder builder = new TopologyBuilder();
        String first = null;
        for (String component : components) {
            if (Utils.isSystemId(component)) {
                continue;
            }
            if (first == null) {
                first = component;
                builder.setSpout(component, new TestWordSpout());
            } else {
                builder.setBolt(component, new TestWordCounter()).shuffleGrouping(first);
            }
        }
        return builder.createTopology();
    }

    /** The topology a plan was made for. */
    TopologyDetails planned(Plan plan, String name, Map<String, Object> settings) {
        Map<String, Integer> executors = new HashMap<>();
        plan.topologies().get(name).components().forEach((component, places) -> executors.put(component, places.size()));
        return topology(name, executors, 1, settings);
    }

    /** One round, as Nimbus has it: what is assigned on machines that are gone is forgotten, what was said is not. */
    Simulated round(IScheduler scheduler) {
        return round(scheduler, Set.of());
    }

    Simulated round(IScheduler scheduler, Set<String> blacklistedHosts) {
        Map<String, TopologyDetails> byId = new LinkedHashMap<>();
        topologies.forEach(topology -> byId.put(topology.getId(), topology));
        Topologies all = new Topologies(byId);
        Cluster cluster = new Cluster(
                new Nimbus(), new ResourceMetrics(new StormMetricsRegistry()), supervisors, alive(), all, new HashMap<>(CONF));
        cluster.setBlacklistedHosts(blacklistedHosts);
        cluster.setStatusMap(new HashMap<>(statuses));
        scheduler.schedule(all, cluster);
        assignments = cluster.getAssignments();
        statuses = cluster.getStatusMap();
        return this;
    }

    private Map<String, SchedulerAssignment> alive() {
        Map<String, SchedulerAssignment> alive = new HashMap<>();
        assignments.forEach((id, assignment) -> {
            SchedulerAssignmentImpl kept = new SchedulerAssignmentImpl(id);
            assignment.getSlotToExecutors().forEach((slot, executors) -> {
                if (supervisors.containsKey(slot.getNodeId())) {
                    kept.assign(slot, executors, null);
                }
            });
            alive.put(id, kept);
        });
        return alive;
    }

    /** What a rebalance does: the topology has no place any more. */
    void forget(String topology) {
        assignments.remove(topology + "-1-100");
    }

    Map<ExecutorDetails, WorkerSlot> slots(String topology) {
        SchedulerAssignment found = assignments.get(topology + "-1-100");
        return found == null ? Map.of() : found.getExecutorToSlot();
    }

    String status(String topology) {
        return String.valueOf(statuses.get(topology + "-1-100"));
    }

    TopologyDetails details(String topology) {
        return topologies.stream().filter(t -> t.getName().equals(topology)).findFirst().orElseThrow();
    }

    /** Machine of every instance of a component, in order; null where it has no place. */
    List<String> where(String topology, String component) {
        List<ExecutorDetails> executors = new ArrayList<>();
        details(topology).getExecutorToComponent().forEach((executor, name) -> {
            if (name.equals(component)) {
                executors.add(executor);
            }
        });
        executors.sort(java.util.Comparator.comparingInt(ExecutorDetails::getStartTask));
        Map<ExecutorDetails, WorkerSlot> slots = slots(topology);
        return executors.stream()
                .map(executor -> slots.containsKey(executor) ? slots.get(executor).getNodeId() : null)
                .map(id -> id == null || !id.startsWith("id-") ? id : id.substring(3))
                .toList();
    }

    boolean isWhole(String topology) {
        return slots(topology).keySet().equals(details(topology).getExecutors());
    }

    private static final class Nimbus implements INimbus {
        @Override
        public void prepare(Map<String, Object> conf, String local) {}

        @Override
        public Collection<WorkerSlot> allSlotsAvailableForScheduling(
                Collection<SupervisorDetails> supervisors, Topologies topologies, Set<String> missing) {
            return List.of();
        }

        @Override
        public void assignSlots(Topologies topologies, Map<String, Collection<WorkerSlot>> slots) {}

        @Override
        public String getHostName(Map<String, SupervisorDetails> supervisors, String id) {
            return supervisors.containsKey(id) ? supervisors.get(id).getHost() : null;
        }

        @Override
        public IScheduler getForcedScheduler() {
            return null;
        }
    }
}
