package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TelemetryTest {
    private static final Path RECORDED = Path.of("..", "tests", "fixtures", "storm-metrics", "registry-and-threads.txt");
    private static final WorkerIdentity WORKER =
            new WorkerIdentity("rmax", "rmax-2-1794731337", "localhost", "lab-90", null, "6710", 1.0, Path.of("."));

    @TempDir
    Path folder;

    /** CPU times that a test sets. */
    private static final class GivenCpu extends JvmCpu {
        Map<Executor, Long> executors = new HashMap<>();
        long process;

        GivenCpu() {
            super(null);
        }

        @Override
        Map<Executor, Long> executors() {
            return executors;
        }

        @Override
        long process() {
            return process;
        }
    }

    private static Map<?, ?> parsed(String line) throws PlanException {
        return (Map<?, ?>) Json.parse(line);
    }

    /**
     * Two moments of a real worker's registry, 30 s apart, through the reporter. The Python suite reads the same
     * recording with its own reader and holds it against the same file of expected lines.
     */
    @Test
    void aRecordedRegistryGivesTheLinesThatPythonReadsFromIt() throws Exception {
        Map<Long, List<String[]>> moments = new TreeMap<>();
        for (String line : Files.readAllLines(RECORDED)) {
            String[] parts = line.split(" ", 4);
            if (parts.length == 4) {
                moments.computeIfAbsent(Long.parseLong(parts[0]), time -> new ArrayList<>()).add(parts);
            }
        }
        MetricRegistry registry = new MetricRegistry();
        GivenCpu cpu = new GivenCpu();
        RegistrySampler sampler = new RegistrySampler(registry, WORKER, cpu, task -> Map.of());
        List<String> lines = List.of();
        for (Map.Entry<Long, List<String[]>> moment : moments.entrySet()) {
            show(moment.getValue(), registry, cpu);
            lines = sampler.sample(moment.getKey());
        }
        List<Map<?, ?>> found = new ArrayList<>();
        for (String line : lines) {
            found.add(parsed(line));
        }
        List<Map<?, ?>> expected = new ArrayList<>();
        Path file = Path.of("..", "tests", "fixtures", "storm-plan", "registry.expected.jsonl");
        for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
            expected.add(parsed(line));
        }
        assertEquals(expected.size(), found.size());
        for (int i = 0; i < expected.size(); i++) {
            for (Object name : expected.get(i).keySet()) {
                // The memory and the age of a JVM that is not there cannot be played back.
                if (!name.equals("worker_memory_mb") && !name.equals("uptime_s")) {
                    same(expected.get(i).get(name), found.get(i).get(name), i + " " + name);
                }
            }
        }
    }

    private static void same(Object expected, Object found, String what) {
        if (expected instanceof Number number && found instanceof Number other) {
            assertEquals(number.doubleValue(), other.doubleValue(), 1e-9 * Math.abs(number.doubleValue()), what);
        } else if (expected instanceof List<?> list && found instanceof List<?> others) {
            assertEquals(list.size(), others.size(), what);
            for (int i = 0; i < list.size(); i++) {
                Map<?, ?> entry = (Map<?, ?>) list.get(i);
                int at = i;
                entry.forEach((name, value) -> same(value, ((Map<?, ?>) others.get(at)).get(name), what + " " + name));
            }
        } else {
            assertEquals(expected, found, what);
        }
    }

    private static void show(List<String[]> lines, MetricRegistry registry, GivenCpu cpu) {
        cpu.executors = new HashMap<>();
        for (String[] line : lines) {
            if (line[1].equals("process")) {
                cpu.process = Long.parseLong(line[3]);
            } else if (line[1].equals("thread") && line[2].contains("-executor[")) {
                java.util.regex.Matcher name = java.util.regex.Pattern.compile("Thread-\\d+-(.+)-executor\\[(-?\\d+),_?(-?\\d+)\\]").matcher(line[2]);
                assertTrue(name.matches());
                cpu.executors.put(
                        new JvmCpu.Executor(name.group(1), Integer.parseInt(name.group(2)), Integer.parseInt(name.group(3))),
                        Long.parseLong(line[3]));
            } else if (line[1].equals("counter")) {
                long now = Long.parseLong(line[3]);
                registry.counter(line[2]).inc(now - registry.counter(line[2]).getCount());
            } else if (line[1].equals("gauge")) {
                registry.remove(line[2]);
                registry.register(line[2], (Gauge<Object>) () -> number(line[3]));
            }
        }
    }

    private static Object number(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException other) {
            return text;
        }
    }

    @Test
    void tuplesAreCountedByTheTaskTheyCameFromWhereAHookDoes() throws Exception {
        MetricRegistry registry = new MetricRegistry();
        GivenCpu cpu = new GivenCpu();
        cpu.executors.put(new JvmCpu.Executor("mid", 3, 4), 0L);
        Map<Integer, Map<TrafficHook.Source, TrafficHook.Sum>> counts = new HashMap<>();
        RegistrySampler sampler =
                new RegistrySampler(registry, WORKER, cpu, task -> counts.getOrDefault(task, Map.of()));
        sampler.sample(1000);
        counts.put(3, Map.of(new TrafficHook.Source("low", "default", 1), new TrafficHook.Sum(5, 500)));
        counts.put(4, Map.of(
                new TrafficHook.Source("low", "default", 1), new TrafficHook.Sum(2, 180),
                new TrafficHook.Source("low", "default", 2), new TrafficHook.Sum(4, Double.NaN)));
        cpu.executors = Map.of(new JvmCpu.Executor("mid", 3, 4), 500_000_000L);
        Map<?, ?> line = parsed(sampler.sample(2000).get(0));
        assertEquals(
                List.of(
                        Map.of("component", "low", "stream", "default", "tuples", 7, "task", 1, "bytes", 680.0),
                        Map.of("component", "low", "stream", "default", "tuples", 4, "task", 2)),
                line.get("inputs"));
        // Half a second of CPU in a second is 50 points.
        assertEquals(50.0, ((Number) line.get("cpu_points")).doubleValue(), 1e-9);
        assertNull(line.get("sample_rate"));
        // The line stands for both tasks of the executor; a bolt is not held back.
        assertEquals(List.of(3, 4), List.of(line.get("task"), line.get("last_task")));
        assertNull(line.get("held_back"));
    }

    @Test
    void aSpoutThatIsKeptWaitingSaysForHowLong() throws Exception {
        MetricRegistry registry = new MetricRegistry();
        GivenCpu cpu = new GivenCpu();
        cpu.executors.put(new JvmCpu.Executor("src", 9, 9), 0L);
        RegistrySampler sampler = new RegistrySampler(registry, WORKER, cpu, task -> Map.of());
        String at = "storm.worker.t-1-1.host.src.9.6700-";
        registry.counter(at + "__skipped-max-spout-ms").inc(7_000);
        registry.counter(at + "__skipped-backpressure-ms").inc(0);
        sampler.sample(10_000);
        registry.counter(at + "__skipped-max-spout-ms").inc(2_000);
        registry.counter(at + "__skipped-backpressure-ms").inc(500);
        // 2 s for tuples under way and half a second for a full queue, of 10 s.
        assertEquals(0.25, ((Number) parsed(sampler.sample(20_000).get(0)).get("held_back")).doubleValue(), 1e-12);
        registry.counter(at + "__skipped-max-spout-ms").inc(10_020);
        // Storm's clock runs a little beside ours: never more than all of the time.
        assertEquals(1.0, ((Number) parsed(sampler.sample(30_000).get(0)).get("held_back")).doubleValue(), 1e-12);
    }

    @Test
    void whatWaitsAtASpoutIsItsOwnGaugeAndTheLagOfItsTopics() throws Exception {
        MetricRegistry registry = new MetricRegistry();
        GivenCpu cpu = new GivenCpu();
        cpu.executors.put(new JvmCpu.Executor("src", 9, 10), 0L);
        RegistrySampler sampler = new RegistrySampler(registry, WORKER, cpu, task -> Map.of());
        sampler.sample(10_000);
        assertNull(parsed(sampler.sample(20_000).get(0)).get("backlog"));
        registry.gauge("storm.worker.t-1-1.host.src.9.6700-penstock-backlog", () -> () -> 30.0);
        registry.gauge("storm.worker.t-1-1.host.src.10.6700-kafkaOffset.orders/totalSpoutLag", () -> () -> 12L);
        registry.gauge("storm.worker.t-1-1.host.src.10.6700-kafkaOffset.bills/totalSpoutLag", () -> () -> -1L);
        // 30 of task 9 and 12 of task 10; an offset that ran ahead is nothing.
        assertEquals(42.0, ((Number) parsed(sampler.sample(30_000).get(0)).get("backlog")).doubleValue(), 1e-12);
    }

    @Test
    void theCpuOfAThreadIsItsOwn() throws Exception {
        Thread busy = new Thread(
                () -> {
                    long end = System.nanoTime() + 200_000_000L;
                    while (System.nanoTime() < end) {
                        Thread.onSpinWait();
                    }
                    try {
                        Thread.sleep(60_000);
                    } catch (InterruptedException ended) {
                        Thread.currentThread().interrupt();
                    }
                },
                "Thread-15-high-executor[2, 5]");
        busy.setDaemon(true);
        busy.start();
        JvmCpu cpu = new JvmCpu(ManagementFactory.getThreadMXBean());
        Thread.sleep(400);
        Map<JvmCpu.Executor, Long> seen = cpu.executors();
        busy.interrupt();
        long spent = seen.get(new JvmCpu.Executor("high", 2, 5));
        assertEquals(1, seen.size());
        assertTrue(spent > 0 && spent <= cpu.process(), String.valueOf(spent));
    }

    @Test
    void aFolderThatCannotBeWrittenStopsNothing() throws Exception {
        Path blocked = Files.writeString(folder.resolve("file"), "");
        TelemetryReporter reporter = new TelemetryReporter();
        reporter.prepare(new MetricRegistry(), new HashMap<>(Map.of("topology.name", "t")), Map.of(TelemetryReporter.FOLDER, blocked.toString()));
        reporter.start();
        reporter.report();
        reporter.report();
        reporter.stop();
        assertFalse(Files.isDirectory(blocked));
    }

    @Test
    void filesAreCalledByRunHostPortAndProcess() {
        FileName name = WORKER.firstFile();
        long pid = ProcessHandle.current().pid();
        assertEquals("rmax-2-1794731337@localhost@6710@" + pid + "-000000.jsonl", name.whole());
    }

    /**
     * What a window costs with 100 executors of 8 streams, for people and for benchmarks.
     *
     * <p>Included is all that the reporter's thread does: reading the CPU times of 100 live threads among the others of
     * this JVM, reading 3,600 metrics, making 100 lines, writing them to a file, and at every sixth window, as at the
     * default of a minute, ending that file and looking through a full day of them. Not included is what other threads
     * do for it: compilers and garbage collection. The mean, not the median: ends of files count.
     */
    @Test
    void aWindowOfAHundredExecutorsIsWrittenWhole() throws Exception {
        MetricRegistry registry = new MetricRegistry();
        CountDownLatch ended = new CountDownLatch(1);
        for (int task = 1; task <= 100; task++) {
            executorThread(task, ended);
            for (int stream = 0; stream < 4; stream++) {
                String at = "storm.worker.t-1-1.host.c" + task % 10 + ".s" + stream + "." + task + ".6700-";
                registry.counter(at + "__execute-count-c" + (task + 1) % 10 + ":s" + stream).inc(task);
                registry.counter(at + "__emit-count-s" + stream).inc(task);
                registry.register(at + "__execute-latency-c" + (task + 1) % 10 + ":s" + stream, (Gauge<Double>) () -> 1.5);
                for (int other = 0; other < 6; other++) {
                    registry.register(at + "other-" + other, (Gauge<Double>) () -> 1.0);
                }
            }
        }
        FileName before = FileName.first("before", WORKER.host(), WORKER.port(), 1);
        for (int i = 0; i < 1440; i++) {
            Files.writeString(folder.resolve(before.numbered(i).whole()), "x");
        }
        JvmCpu cpu = new JvmCpu(ManagementFactory.getThreadMXBean());
        RegistrySampler sampler = new RegistrySampler(registry, WORKER, cpu, task -> Map.of());
        // Size and number as by default; windows follow each other at once here, so the test says when a file ends.
        RotatedFiles files = new RotatedFiles(folder, WORKER.firstFile(), 16 << 20, 8, Long.MAX_VALUE / 100);
        sampler.sample(0);
        int unmeasured = 30;
        int measured = 60;
        long took = 0;
        List<String> lines = List.of();
        for (int window = 1; window <= unmeasured + measured; window++) {
            long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            lines = sampler.sample(10_000L * window);
            files.write(lines);
            if (window % 6 == 0) {
                files.close();
            }
            if (window > unmeasured) {
                took += ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - began;
            }
            assertEquals(100, lines.size());
        }
        ended.countDown();
        try (Stream<String> written = Files.lines(folder.resolve(WORKER.firstFile().numbered(14).whole()))) {
            assertEquals(600, written.count());
        }
        double ms = took / 1e6 / measured;
        double percent = 100 * ms / 10_000;
        System.out.printf("a window of 100 executors: mean %.2f ms of CPU, %.3f %% of a core at 10 s%n", ms, percent);
        System.out.printf(Locale.ROOT, "penstock-figure reporter.core_percent %.4f%n", percent);
    }

    /** A thread with the name that Storm gives to an executor, which waits. */
    private static void executorThread(int task, CountDownLatch ended) {
        Runnable waits = () -> {
            try {
                ended.await();
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        };
        String tasks = "[" + task + ", " + task + "]";
        Thread thread = new Thread(waits, "Thread-" + task + "-c" + task % 10 + "-executor" + tasks);
        thread.setDaemon(true);
        thread.start();
    }
}
