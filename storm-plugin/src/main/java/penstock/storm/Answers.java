package penstock.storm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ExecutorStats;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.GetInfoOptions;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NumErrorsChoice;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.generated.WorkerSummary;
import org.apache.storm.thrift.TException;

/** What Nimbus and ZooKeeper know, as JSON. */
final class Answers {
    /** Settings that a client needs; others may hold secrets. */
    private static final List<String> SETTINGS = List.of(
            "storm.scheduler", PlanSource.FILE, "scheduler.config.loader.uri", PlanScheduler.FALLBACK,
            "nimbus.monitor.freq.secs", "nimbus.task.timeout.secs");
    /** Settings of whoever asks, not of the cluster: what may be written is nobody else's decision. */
    private static final List<String> OWN_SETTINGS = List.of(PlanSource.FILE, "penstock.shares.folders");
    private static final String ALL_TIME = ":all-time";

    /** Gives the connection to Nimbus, a new one if need be. */
    interface Connection {
        Nimbus.Iface nimbus() throws TException;
    }

    private final Map<String, Object> conf;
    private final Connection connection;

    Answers(Map<String, Object> conf, Connection connection) {
        this.conf = conf;
        this.connection = connection;
    }

    Map<String, Object> cluster() throws Exception {
        ClusterSummary summary = connection.nimbus().getClusterInfo();
        Map<?, ?> nimbusConf = (Map<?, ?>) Json.parse(connection.nimbus().getNimbusConf());
        Map<String, Object> settings = new TreeMap<>();
        SETTINGS.stream().filter(name -> nimbusConf.get(name) != null).forEach(name -> settings.put(name, nimbusConf.get(name)));
        List<Object> topologies = new ArrayList<>();
        for (TopologySummary topology : summary.get_topologies()) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("id", topology.get_id());
            entry.put("name", topology.get_name());
            entry.put("status", topology.get_status());
            entry.put("scheduler_info", topology.get_sched_status());
            entry.put("topology_version", topology.get_topology_version());
            entry.put("uptime_s", topology.get_uptime_secs());
            topologies.add(entry);
        }
        List<Object> supervisors = new ArrayList<>();
        for (SupervisorSummary supervisor : summary.get_supervisors()) {
            Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("id", supervisor.get_supervisor_id());
            entry.put("host", supervisor.get_host());
            entry.put("slots", supervisor.get_num_workers());
            entry.put("blacklisted", supervisor.is_blacklisted());
            entry.put("uptime_s", supervisor.get_uptime_secs());
            entry.put("version", supervisor.get_version());
            entry.put("resources", supervisor.get_total_resources());
            supervisors.add(entry);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("supervisors", supervisors);
        answer.put("topologies", topologies);
        answer.put("settings", settings);
        return answer;
    }

    /** What the client's own storm.yaml says; Nimbus is not asked. */
    Map<String, Object> ownSettings() {
        Map<String, Object> settings = new TreeMap<>();
        OWN_SETTINGS.stream().filter(name -> conf.get(name) != null).forEach(name -> settings.put(name, conf.get(name)));
        return settings;
    }

    /** What only ZooKeeper knows of the supervisors: the metadata with the machine's name, type and rack. */
    Map<String, Object> machines() throws Exception {
        Map<String, Object> machines = new TreeMap<>();
        zooKeeper().supervisors(conf).forEach((id, info) -> {
            Map<String, Object> machine = new LinkedHashMap<>();
            machine.put("host", info.get_hostname());
            machine.put("meta", info.is_set_scheduler_meta() ? info.get_scheduler_meta() : Map.of());
            machines.put(id, machine);
        });
        return machines;
    }

    ZooKeeper zooKeeper() throws Exception {
        if (!Boolean.TRUE.equals(conf.get(ZooKeeper.FROM_NIMBUS))) {
            return ZooKeeper.of(conf);
        }
        ZooKeeper told = ZooKeeper.of((Map<?, ?>) Json.parse(connection.nimbus().getNimbusConf()));
        List<String> seeds = new Fields(conf, "the settings").texts("nimbus.seeds");
        return seeds.isEmpty() ? told : told.seenFrom(seeds.get(0));
    }

    Map<String, Object> topology(String id) throws Exception {
        StormTopology topology = connection.nimbus().getTopology(id);
        Map<?, ?> settings = (Map<?, ?>) Json.parse(connection.nimbus().getTopologyConf(id));
        Map<String, Object> components = new TreeMap<>();
        topology.get_spouts().forEach((name, spout) -> components.put(name, component("spout", spout.get_common())));
        topology.get_bolts().forEach((name, bolt) -> components.put(name, component("bolt", bolt.get_common())));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", id);
        answer.put("name", settings.get("topology.name"));
        for (String name : List.of(
                "topology.version", "topology.workers", "topology.priority", "topology.worker.max.heap.size.mb",
                "topology.acker.executors", "topology.component.resources.onheap.memory.mb",
                "topology.component.resources.offheap.memory.mb", "topology.component.cpu.pcore.percent",
                "topology.component.resources.map", "topology.disable.loadaware.messaging",
                "topology.blobstore.map", WeightedGrouping.FILE)) {
            answer.put(name, settings.get(name));
        }
        answer.put("components", components);
        return answer;
    }

    private static Map<String, Object> component(String kind, ComponentCommon common) {
        Map<String, Object> component = new LinkedHashMap<>();
        component.put("kind", kind);
        component.put("parallelism", common.is_set_parallelism_hint() ? common.get_parallelism_hint() : null);
        Map<?, ?> settings = Map.of();
        if (common.is_set_json_conf()) {
            try {
                settings = Json.parse(common.get_json_conf()) instanceof Map<?, ?> map ? map : Map.of();
            } catch (PlanException broken) {
                // A component without readable settings has Storm's defaults.
            }
        }
        component.put("tasks", settings.get("topology.tasks"));
        component.put("cpu_points", settings.get("topology.component.cpu.pcore.percent"));
        component.put("onheap_mb", settings.get("topology.component.resources.onheap.memory.mb"));
        component.put("offheap_mb", settings.get("topology.component.resources.offheap.memory.mb"));
        component.put("resources", settings.get("topology.component.resources.map"));
        List<Object> inputs = new ArrayList<>();
        common.get_inputs().forEach((stream, grouping) -> inputs.add(input(stream, grouping)));
        component.put("inputs", inputs);
        component.put("outputs", common.get_streams() == null ? List.of() : List.copyOf(common.get_streams().keySet()));
        return component;
    }

    private static Map<String, Object> input(GlobalStreamId stream, Grouping grouping) {
        Map<String, Object> input = new LinkedHashMap<>();
        input.put("component", stream.get_componentId());
        input.put("stream", stream.get_streamId());
        input.put("grouping", nameOf(grouping));
        if (grouping.is_set_fields()) {
            input.put("fields", grouping.get_fields());
        }
        return input;
    }

    private static String nameOf(Grouping grouping) {
        return switch (grouping.getSetField()) {
            case FIELDS -> grouping.get_fields().isEmpty() ? "global" : "fields";
            case SHUFFLE, NONE -> "shuffle";
            case ALL -> "all";
            case DIRECT -> "direct";
            case LOCAL_OR_SHUFFLE -> "local-or-shuffle";
            case CUSTOM_OBJECT -> "custom";
            case CUSTOM_SERIALIZED -> isWeighted(grouping.get_custom_serialized()) ? "weighted" : "custom";
        };
    }

    /** Java writes the class name into what it serializes; nothing is loaded to find it. */
    private static boolean isWeighted(byte[] serialized) {
        return new String(serialized, java.nio.charset.StandardCharsets.ISO_8859_1).contains(WeightedGrouping.class.getName());
    }

    /** Where every executor is; supervisors by id, because two of them may share a host. */
    Map<String, Object> assignments(String id) throws Exception {
        TopologyInfo info = info(id);
        Map<String, List<String>> byHost = new LinkedHashMap<>();
        for (SupervisorSummary supervisor : connection.nimbus().getClusterInfo().get_supervisors()) {
            byHost.computeIfAbsent(supervisor.get_host(), host -> new ArrayList<>())
                    .add(supervisor.get_supervisor_id());
        }
        Map<String, String> byWorker = sharingHosts(id, byHost);
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary executor : executorsOf(info)) {
            Map<String, Object> entry = place(executor);
            List<String> there = byHost.getOrDefault(executor.get_host(), List.of());
            entry.put("supervisor", there.size() == 1 ? there.get(0) : byWorker.get(worker(executor)));
            executors.add(entry);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", id);
        answer.put("status", info.get_status());
        answer.put("scheduler_info", info.get_sched_status());
        answer.put("executors", executors);
        return answer;
    }

    /** The supervisors of workers on hosts that several share. The others' pages are not asked for: one call each. */
    private Map<String, String> sharingHosts(String id, Map<String, List<String>> byHost) throws TException {
        Map<String, String> byWorker = new HashMap<>();
        for (List<String> there : byHost.values()) {
            if (there.size() == 1) {
                continue;
            }
            for (String supervisor : there) {
                List<WorkerSummary> workers =
                        connection.nimbus().getSupervisorPageInfo(supervisor, null, true).get_worker_summaries();
                // Thrift leaves an empty list out.
                for (WorkerSummary worker : workers == null ? List.<WorkerSummary>of() : workers) {
                    if (worker.get_topology_id().equals(id)) {
                        byWorker.put(worker.get_host() + ":" + worker.get_port(), worker.get_supervisor_id());
                    }
                }
            }
        }
        return byWorker;
    }

    private static String worker(ExecutorSummary executor) {
        return executor.get_host() + ":" + executor.get_port();
    }

    private TopologyInfo info(String id) throws TException {
        GetInfoOptions options = new GetInfoOptions();
        options.set_num_err_choice(NumErrorsChoice.NONE);
        return connection.nimbus().getTopologyInfoWithOpts(id, options);
    }

    private static List<ExecutorSummary> executorsOf(TopologyInfo info) {
        return info.get_executors() == null ? List.of() : info.get_executors();
    }

    private static Map<String, Object> place(ExecutorSummary executor) {
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("component", executor.get_component_id());
        entry.put("first_task", executor.get_executor_info().get_task_start());
        entry.put("last_task", executor.get_executor_info().get_task_end());
        entry.put("host", executor.get_host());
        entry.put("port", executor.get_port());
        entry.put("uptime_s", executor.get_uptime_secs());
        return entry;
    }

    /** Tuples of every executor since it started, by stream. */
    Map<String, Object> statistics(String id) throws Exception {
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary executor : executorsOf(info(id))) {
            ExecutorStats stats = executor.get_stats();
            if (stats == null) {
                continue;
            }
            Map<String, Object> entry = place(executor);
            entry.put("emitted", stats.get_emitted().getOrDefault(ALL_TIME, Map.of()));
            if (stats.get_specific().is_set_bolt()) {
                List<Object> executed = new ArrayList<>();
                stats.get_specific().get_bolt().get_executed().getOrDefault(ALL_TIME, Map.of()).forEach((stream, count) -> {
                    Map<String, Object> taken = new LinkedHashMap<>();
                    taken.put("component", stream.get_componentId());
                    taken.put("stream", stream.get_streamId());
                    taken.put("tuples", count);
                    executed.add(taken);
                });
                entry.put("executed", executed);
            } else {
                entry.put("acked", stats.get_specific().get_spout().get_acked().getOrDefault(ALL_TIME, Map.of()));
                entry.put("failed", stats.get_specific().get_spout().get_failed().getOrDefault(ALL_TIME, Map.of()));
                entry.put("complete_ms", stats.get_specific().get_spout().get_complete_ms_avg().getOrDefault(ALL_TIME, Map.of()));
            }
            executors.add(entry);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", id);
        answer.put("executors", executors);
        return answer;
    }
}
