package penstock.storm;

import java.nio.file.Path;
import java.util.Map;

/**
 * Who a worker is. Nothing in a topology's settings says so; Storm starts each worker with it in system properties,
 * and the supervisor's own storm.yaml, which is merged into the settings, has the machine's name and type.
 */
record WorkerIdentity(
        String topology,
        String run,
        String host,
        String machineType,
        String rack,
        String port,
        double sampleRate,
        Path logFolder) {

    static WorkerIdentity of(Map<String, Object> conf) {
        String run = text(System.getProperty("storm.id"), conf.get("storm.id"), "unknown");
        String port = text(System.getProperty("worker.port"), conf.get("worker.port"), "0");
        String host = text(conf.get("storm.local.hostname"), localHost());
        Map<?, ?> meta = conf.get("supervisor.scheduler.meta") instanceof Map<?, ?> map ? map : Map.of();
        String artifacts = System.getProperty("workers.artifacts");
        Path folder = artifacts == null ? Path.of(".") : Path.of(artifacts, run, port);
        return new WorkerIdentity(
                text(conf.get("topology.name"), run),
                run,
                text(meta.get("machine"), host),
                text(meta.get("machine-type"), meta.get("machine_type"), meta.get("type")),
                text(meta.get("rack"), meta.get("rack-id"), meta.get("rack_id")),
                port,
                conf.get("topology.stats.sample.rate") instanceof Number rate ? rate.doubleValue() : 0.05,
                folder);
    }

    /** Unique among all workers that may write into one folder. */
    FileName firstFile() {
        return FileName.first(run, host, port, ProcessHandle.current().pid());
    }

    private static String text(Object... choices) {
        for (Object choice : choices) {
            if (choice != null && !choice.toString().isEmpty()) {
                return choice.toString();
            }
        }
        return null;
    }

    private static String localHost() {
        try {
            return java.net.InetAddress.getLocalHost().getHostName();
        } catch (java.net.UnknownHostException error) {
            return "localhost";
        }
    }
}
