package penstock.storm;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.Metric;
import com.codahale.metrics.MetricRegistry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Turns a worker's metrics registry and the CPU of its threads into telemetry lines: what changed since the last
 * window, one line per executor, under its first task.
 *
 * <p>The names of metrics are parsed once each; a window costs one look at every counter.
 */
final class RegistrySampler {
    static final int VERSION = 1;
    private static final Pattern METRIC = Pattern.compile(
            "storm\\.(?:worker|topology)\\.[^.]+\\.[^.]+\\.[^.]+(?:\\.[^.]+)?\\.(-?\\d+)\\.\\d+-(.+)");
    private static final String EXECUTED = "__execute-count-";
    private static final String EMITTED = "__emit-count-";
    private static final String ACKED = "__ack-count-";
    private static final String EXECUTE_MS = "__execute-latency-";
    private static final String PROCESS_MS = "__process-latency-";
    private static final String COMPLETE_MS = "__complete-latency-";
    private static final String POPULATION = "receive-queue-population";
    private static final String CAPACITY = "receive-queue-capacity";
    /** Milliseconds in which a spout was not asked for tuples, because too many are under way or downstream is full. */
    private static final String PENDING_MS = "__skipped-max-spout-ms";
    private static final String BACKPRESSURE_MS = "__skipped-backpressure-ms";
    /** Tuples that wait at a spout's source: a gauge of the spout's own, or what storm-kafka-client says by topic. */
    static final String BACKLOG = "penstock-backlog";
    private static final String KAFKA_LAG = "/totalSpoutLag";
    private static final List<String> COUNTED = List.of(EXECUTED, EMITTED, ACKED, PENDING_MS, BACKPRESSURE_MS);
    private static final List<String> READ = List.of(EXECUTE_MS, PROCESS_MS, COMPLETE_MS, POPULATION, CAPACITY);
    private static final double POINTS_PER_NS_PER_MS = 100.0 / 1e6;

    /** A metric's task, which of our kinds it is, and the rest of its name; {@code kind} is null for the others. */
    private record Name(int task, String kind, String rest) {}

    private final MetricRegistry registry;
    private final WorkerIdentity worker;
    private final JvmCpu cpu;
    private final Traffic traffic;
    private final Map<String, Name> names = new HashMap<>();
    private Moment before;

    /** Everything seen at one time. */
    private static final class Moment {
        final long timeMs;
        final Map<JvmCpu.Executor, Long> executors;
        final long processNs;
        /** By task, kind and the rest of the name. */
        final Map<Integer, Map<String, Map<String, Double>>> values = new HashMap<>();
        /** By task and the task the tuples came from; empty where no hook counts them. */
        final Map<Integer, Map<TrafficHook.Source, TrafficHook.Sum>> traffic = new HashMap<>();

        Moment(long timeMs, JvmCpu cpu) {
            this.timeMs = timeMs;
            this.executors = cpu.executors();
            this.processNs = cpu.process();
        }

        Map<String, Double> of(int task, String kind) {
            return values.getOrDefault(task, Map.of()).getOrDefault(kind, Map.of());
        }
    }

    /** What a task took in from each task, where it is counted. */
    interface Traffic {
        Map<TrafficHook.Source, TrafficHook.Sum> of(int task);
    }

    RegistrySampler(MetricRegistry registry, WorkerIdentity worker, JvmCpu cpu, Traffic traffic) {
        this.registry = registry;
        this.worker = worker;
        this.cpu = cpu;
        this.traffic = traffic;
    }

    /** Lines of the window since the last call; none from the first. */
    List<String> sample(long timeMs) {
        Moment after = look(timeMs);
        List<String> lines = new ArrayList<>();
        if (before != null && after.timeMs > before.timeMs) {
            List<JvmCpu.Executor> executors = new ArrayList<>(after.executors.keySet());
            executors.sort(Comparator.comparing(JvmCpu.Executor::component).thenComparing(JvmCpu.Executor::first));
            for (JvmCpu.Executor executor : executors) {
                if (before.executors.containsKey(executor) && isMeasured(executor.component())) {
                    lines.add(Json.line(record(executor, before, after)));
                }
            }
        }
        before = after;
        return lines;
    }

    private Moment look(long timeMs) {
        Moment moment = new Moment(timeMs, cpu);
        for (JvmCpu.Executor executor : moment.executors.keySet()) {
            for (int task = executor.first(); task <= executor.last(); task++) {
                moment.traffic.put(task, traffic.of(task));
            }
        }
        for (Map.Entry<String, Metric> entry : registry.getMetrics().entrySet()) {
            Name name = names.computeIfAbsent(entry.getKey(), RegistrySampler::parse);
            if (name.kind() == null) {
                continue;
            }
            Double value = valueOf(entry.getValue());
            if (value != null) {
                moment.values.computeIfAbsent(name.task(), task -> new HashMap<>())
                        .computeIfAbsent(name.kind(), kind -> new TreeMap<>())
                        .put(name.rest(), value);
            }
        }
        return moment;
    }

    private static Name parse(String full) {
        Matcher metric = METRIC.matcher(full);
        if (metric.matches() && !full.endsWith(".m1_rate")) {
            for (List<String> kinds : List.of(COUNTED, READ)) {
                for (String kind : kinds) {
                    if (metric.group(2).startsWith(kind)) {
                        return new Name(Integer.parseInt(metric.group(1)), kind, metric.group(2).substring(kind.length()));
                    }
                }
            }
            if (metric.group(2).equals(BACKLOG) || metric.group(2).endsWith(KAFKA_LAG)) {
                return new Name(Integer.parseInt(metric.group(1)), BACKLOG, metric.group(2));
            }
        }
        return new Name(0, null, null);
    }

    private static Double valueOf(Metric metric) {
        Object value = metric instanceof Counter counter ? counter.getCount() : metric instanceof Gauge<?> gauge ? gauge.getValue() : null;
        return value instanceof Number number && Double.isFinite(number.doubleValue()) ? number.doubleValue() : null;
    }

    private Map<String, Object> record(JvmCpu.Executor executor, Moment old, Moment now) {
        long windowMs = now.timeMs - old.timeMs;
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("version", VERSION);
        line.put("time_ms", now.timeMs);
        line.put("window_ms", windowMs);
        line.put("topology", worker.topology());
        line.put("component", executor.component());
        line.put("task", executor.first());
        if (executor.last() > executor.first()) {
            line.put("last_task", executor.last());
        }
        line.put("host", worker.host());
        put(line, "machine_type", worker.machineType());
        line.put("worker", worker.port());
        line.put("run", worker.run());
        put(line, "rack", worker.rack());
        Map<String, Double> taken = differences(executor, old, now, EXECUTED);
        Map<String, Double> put = differences(executor, old, now, EMITTED);
        List<Map<String, Object>> bySource = bySource(executor, old, now);
        line.put("inputs", bySource.isEmpty() ? inputs(taken) : bySource);
        line.put("outputs", outputs(executor.component(), put));
        if (worker.sampleRate() < 1) {
            line.put("sample_rate", worker.sampleRate());
        }
        put(line, "execute_ms", mean(executor, now, EXECUTE_MS, taken));
        put(line, "process_ms", mean(executor, now, PROCESS_MS, taken));
        line.put("cpu_points", (now.executors.get(executor) - old.executors.get(executor)) * POINTS_PER_NS_PER_MS / windowMs);
        if (old.processNs >= 0 && now.processNs >= old.processNs) {
            line.put("worker_cpu_points", (now.processNs - old.processNs) * POINTS_PER_NS_PER_MS / windowMs);
        }
        line.put("worker_memory_mb", cpu.memoryMb());
        put(line, "queue_fill", queueFill(executor, now));
        put(line, "held_back", heldBack(executor, old, now));
        put(line, "backlog", backlog(executor, now));
        put(line, "latency_ms", mean(executor, now, COMPLETE_MS, differences(executor, old, now, ACKED)));
        line.put("uptime_s", cpu.uptimeSeconds());
        return line;
    }

    private static void put(Map<String, Object> line, String name, Object value) {
        if (value != null) {
            line.put(name, value);
        }
    }

    /** Tuples since the last window; Storm makes a counter with its first tuple, so an absent one stood at 0. */
    private static Map<String, Double> differences(JvmCpu.Executor executor, Moment old, Moment now, String kind) {
        Map<String, Double> found = new TreeMap<>();
        for (int task = executor.first(); task <= executor.last(); task++) {
            Map<String, Double> was = old.of(task, kind);
            now.of(task, kind).forEach((rest, count) -> found.merge(rest, count - was.getOrDefault(rest, 0.0), Double::sum));
        }
        found.values().removeIf(count -> count < 0);
        return found;
    }

    /** Inputs with the task each came from, exact; empty where no hook counts them. */
    private static List<Map<String, Object>> bySource(JvmCpu.Executor executor, Moment old, Moment now) {
        Map<TrafficHook.Source, TrafficHook.Sum> found = new TreeMap<>();
        for (int task = executor.first(); task <= executor.last(); task++) {
            Map<TrafficHook.Source, TrafficHook.Sum> was = old.traffic.getOrDefault(task, Map.of());
            now.traffic.getOrDefault(task, Map.of()).forEach((source, sum) -> found.merge(
                    source, sum.minus(was.getOrDefault(source, TrafficHook.Sum.NOTHING)), TrafficHook.Sum::plus));
        }
        List<Map<String, Object>> inputs = new ArrayList<>();
        found.forEach((source, sum) -> {
            if (isMeasured(source.component()) && sum.tuples() >= 0) {
                Map<String, Object> input = new LinkedHashMap<>();
                input.put("component", source.component());
                input.put("stream", source.stream());
                input.put("tuples", sum.tuples());
                input.put("task", source.task());
                if (Double.isFinite(sum.bytes())) {
                    input.put("bytes", sum.bytes());
                }
                inputs.add(input);
            }
        });
        return inputs;
    }

    private static List<Map<String, Object>> inputs(Map<String, Double> taken) {
        List<Map<String, Object>> inputs = new ArrayList<>();
        taken.forEach((name, tuples) -> {
            int colon = name.indexOf(':');
            String source = colon < 0 ? name : name.substring(0, colon);
            if (isMeasured(source)) {
                Map<String, Object> input = new LinkedHashMap<>();
                input.put("component", source);
                input.put("stream", colon < 0 ? "default" : name.substring(colon + 1));
                input.put("tuples", tuples);
                inputs.add(input);
            }
        });
        return inputs;
    }

    private static List<Map<String, Object>> outputs(String component, Map<String, Double> put) {
        List<Map<String, Object>> outputs = new ArrayList<>();
        put.forEach((stream, tuples) -> {
            // A bolt's acks stand beside its output, one for one; the acker counts them as its input.
            boolean own = component.startsWith("__") || !stream.startsWith("__");
            if (own && isMeasured(stream)) {
                Map<String, Object> output = new LinkedHashMap<>();
                output.put("stream", stream);
                output.put("tuples", tuples);
                outputs.add(output);
            }
        });
        return outputs;
    }

    /** Mean over streams by their tuples; a stream without tuples has no mean, whatever the gauge says. */
    private static Double mean(JvmCpu.Executor executor, Moment now, String kind, Map<String, Double> tuples) {
        double weights = 0;
        double total = 0;
        for (int task = executor.first(); task <= executor.last(); task++) {
            for (Map.Entry<String, Double> gauge : now.of(task, kind).entrySet()) {
                double weight = tuples.getOrDefault(gauge.getKey(), 0.0);
                if (weight > 0 && gauge.getValue() >= 0 && isMeasured(gauge.getKey())) {
                    weights += weight;
                    total += weight * gauge.getValue();
                }
            }
        }
        return weights > 0 ? total / weights : null;
    }

    /** An executor has one queue, under its first task. */
    private static Double queueFill(JvmCpu.Executor executor, Moment now) {
        Double population = now.of(executor.first(), POPULATION).get("");
        Double capacity = now.of(executor.first(), CAPACITY).get("");
        return population == null || capacity == null || capacity <= 0 ? null : Math.min(1.0, population / capacity);
    }

    /** Part of the window in which a spout was kept from emitting; bolts have no such counters. */
    private static Double heldBack(JvmCpu.Executor executor, Moment old, Moment now) {
        Double pending = differences(executor, old, now, PENDING_MS).get("");
        Double pressed = differences(executor, old, now, BACKPRESSURE_MS).get("");
        if (pending == null && pressed == null) {
            return null;
        }
        double ms = (pending == null ? 0 : pending) + (pressed == null ? 0 : pressed);
        return Math.min(1.0, ms / (now.timeMs - old.timeMs));
    }

    /** What waits at the sources of all its tasks; a lag below zero is a clock's or an offset's, and is nothing. */
    private static Double backlog(JvmCpu.Executor executor, Moment now) {
        Double waiting = null;
        for (int task = executor.first(); task <= executor.last(); task++) {
            for (double one : now.of(task, BACKLOG).values()) {
                waiting = (waiting == null ? 0 : waiting) + Math.max(0, one);
            }
        }
        return waiting;
    }

    private static boolean isMeasured(String name) {
        return !name.startsWith("__system") && !name.startsWith("__metrics");
    }
}
