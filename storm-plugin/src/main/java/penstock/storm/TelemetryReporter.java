package penstock.storm;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metrics2.reporters.StormReporter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what every executor of a worker did, and the exact CPU of its thread, as Penstock's telemetry lines.
 *
 * <p>Named in {@code topology.metrics.reporters}; runs in every worker on one thread of low priority. Settings of
 * its entry there: {@code penstock.telemetry.dir} (default: the worker's own log folder), {@code report.period} in
 * seconds (10), {@code penstock.telemetry.file.mb} (16) and {@code penstock.telemetry.files} (8) that are kept of one
 * host and port, however often its worker is restarted. With {@code penstock.telemetry.kafka}
 * ({@code kafka://broker:9092/topic}) lines go to a topic instead; {@code penstock.telemetry.kafka.config} names a file
 * of the client's properties, and {@code penstock.telemetry.kafka.mb} (16) bounds what waits for a broker. It never
 * stops a worker: what fails is logged once and the next window begins.
 */
public final class TelemetryReporter implements StormReporter {
    public static final String FOLDER = "penstock.telemetry.dir";
    public static final String FILE_MB = "penstock.telemetry.file.mb";
    public static final String FILES = "penstock.telemetry.files";
    public static final String KAFKA = "penstock.telemetry.kafka";
    public static final String KAFKA_CONFIG = "penstock.telemetry.kafka.config";
    public static final String KAFKA_MB = "penstock.telemetry.kafka.mb";
    public static final String FILE_SECONDS = "penstock.telemetry.file.secs";
    private static final Logger LOG = LoggerFactory.getLogger(TelemetryReporter.class);
    private static final long PERIOD_SECONDS = 10;

    private RegistrySampler sampler;
    private LineSink sink;
    private long periodMs;
    private ScheduledExecutorService timer;
    private boolean complained;

    @Override
    public void prepare(MetricRegistry registry, Map<String, Object> topology, Map<String, Object> settings) {
        WorkerIdentity worker = WorkerIdentity.of(topology);
        periodMs = TimeUnit.SECONDS.toMillis(number(settings, topology, REPORT_PERIOD, PERIOD_SECONDS));
        LineSink kafka = kafka(worker, settings, topology);
        sink = kafka != null ? kafka : files(worker, settings, topology);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        sampler = new RegistrySampler(registry, worker, new JvmCpu(threads), TrafficHook::countsOf);
    }

    private static LineSink files(WorkerIdentity worker, Map<String, Object> settings, Map<String, Object> topology) {
        Object folder = setting(settings, topology, FOLDER);
        return new RotatedFiles(
                folder != null ? Path.of(folder.toString()) : worker.logFolder(),
                worker.firstFile(),
                number(settings, topology, FILE_MB, 16) << 20,
                (int) number(settings, topology, FILES, 8),
                TimeUnit.SECONDS.toMillis(number(settings, topology, FILE_SECONDS, 60)));
    }

    /** A topic where one is named and can be written to; null where lines are to go to files. */
    private static LineSink kafka(WorkerIdentity worker, Map<String, Object> settings, Map<String, Object> topology) {
        Object address = setting(settings, topology, KAFKA);
        if (address == null) {
            return null;
        }
        Object config = setting(settings, topology, KAFKA_CONFIG);
        String why;
        try {
            return KafkaSink.open(
                    KafkaAddress.of(address.toString()),
                    config == null ? null : Path.of(config.toString()),
                    String.join("@", worker.run(), worker.host(), worker.port()),
                    number(settings, topology, KAFKA_MB, 16) << 20);
        } catch (LinkageError missing) {
            why = "copy the jar of kafka-clients to Storm's extlib/ (" + missing + ")";
        } catch (IOException | IllegalArgumentException error) {
            why = error.toString();
        }
        LOG.warn("penstock: telemetry goes to files and not to {}: {}", address, why);
        return null;
    }

    private static Object setting(Map<String, Object> settings, Map<String, Object> topology, String name) {
        Object own = settings == null ? null : settings.get(name);
        return own != null ? own : topology.get(name);
    }

    private static long number(Map<String, Object> settings, Map<String, Object> topology, String name, long absent) {
        Object given = setting(settings, topology, name);
        return given instanceof Number number && number.longValue() > 0 ? number.longValue() : absent;
    }

    @Override
    public void start() {
        timer = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work, "penstock-telemetry");
            thread.setDaemon(true);
            thread.setPriority(Thread.MIN_PRIORITY);
            return thread;
        });
        timer.scheduleAtFixedRate(this::report, periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    /** One window; package-private so that a test can do without the clock. */
    void report() {
        try {
            List<String> lines = sampler.sample(System.currentTimeMillis());
            sink.write(lines);
            complained = false;
        } catch (IOException | RuntimeException | LinkageError error) {
            if (!complained) {
                LOG.warn("penstock: no telemetry for now: {}", error.toString());
                complained = true;
            }
        }
    }

    @Override
    public void close() {
        stop();
    }

    @Override
    public void stop() {
        if (timer == null) {
            return;
        }
        timer.shutdownNow();
        timer = null;
        report();
        try {
            sink.close();
        } catch (IOException | RuntimeException error) {
            LOG.warn("penstock: the last telemetry was not written: {}", error.toString());
        }
    }
}
