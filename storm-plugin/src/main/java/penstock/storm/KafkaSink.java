package penstock.storm;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lines as records of a Kafka topic, sent by a thread of its own.
 *
 * <p>The only class that needs kafka-clients, which is not in this jar: where it is not on the worker's class path, the
 * class does not load, and the reporter writes files. A broker that is away costs memory up to a bound and then the
 * oldest lines, which are counted and logged; it never costs the worker any waiting. A line may arrive twice, which
 * the pipeline sets aside as a repeat.
 */
final class KafkaSink implements LineSink {
    private static final Logger LOG = LoggerFactory.getLogger(KafkaSink.class);
    private static final long TRIES_AGAIN_MS = 1_000;
    private static final long LOGS_EVERY_MS = TimeUnit.MINUTES.toMillis(1);
    private static final long ENDS_WITHIN_MS = 5_000;

    private final Supplier<Producer<byte[], byte[]>> connect;
    private final KafkaAddress address;
    private final byte[] key;
    private final WaitingLines lines;
    private final Thread sender;
    private volatile Producer<byte[], byte[]> producer;
    private volatile boolean closed;
    private long loggedMs;
    private boolean complained;

    /** A sink that has not begun: {@link #start} does. */
    KafkaSink(Supplier<Producer<byte[], byte[]>> connect, KafkaAddress address, String key, long mostBytes) {
        this.connect = connect;
        this.address = address;
        this.key = key.getBytes(StandardCharsets.UTF_8);
        this.lines = new WaitingLines(mostBytes);
        this.sender = new Thread(this::send, "penstock-kafka");
        sender.setDaemon(true);
        sender.setPriority(Thread.MIN_PRIORITY);
    }

    /** {@code config} is a file of the client's properties, or null; lines of one {@code key} stay in order. */
    static KafkaSink open(KafkaAddress address, Path config, String key, long mostBytes) throws IOException {
        Properties properties = properties(address, config, mostBytes);
        KafkaSink sink = new KafkaSink(
                () -> new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer()),
                address,
                key,
                mostBytes / 2);
        sink.start();
        return sink;
    }

    static Properties properties(KafkaAddress address, Path config, long mostBytes) throws IOException {
        Properties properties = new Properties();
        properties.put(ProducerConfig.LINGER_MS_CONFIG, "100");
        if (config != null) {
            try (Reader text = Files.newBufferedReader(config, StandardCharsets.UTF_8)) {
                properties.load(text);
            }
        }
        properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, address.brokers());
        // Half of the bound is the client's; what it does not take within a second waits with us.
        properties.put(ProducerConfig.BUFFER_MEMORY_CONFIG, String.valueOf(mostBytes / 2));
        properties.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, "1000");
        return properties;
    }

    void start() {
        sender.start();
    }

    @Override
    public void write(List<String> some) {
        long before = lines.dropped();
        for (String line : some) {
            lines.add(line.getBytes(StandardCharsets.UTF_8));
        }
        if (lines.dropped() > before) {
            complain("more lines wait than there is room for");
        }
    }

    long dropped() {
        return lines.dropped();
    }

    private void send() {
        try {
            for (byte[] line = lines.take(); line != null; line = lines.take()) {
                if (!isSent(line) && !closed) {
                    Thread.sleep(TRIES_AGAIN_MS);
                } else if (closed && complained) {
                    return; // nobody is there, and nobody waits for the rest
                }
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the client took a line; one that it did not take waits again. */
    private boolean isSent(byte[] line) {
        boolean[] refused = {false};
        try {
            if (producer == null) {
                producer = connect.get();
            }
            producer.send(new ProducerRecord<>(address.topic(), key, line), (sent, error) -> {
                if (error != null) {
                    refused[0] = true;
                    failed(line, error);
                } else {
                    arrived();
                }
            });
        } catch (RuntimeException | LinkageError error) {
            // No address of a broker can be resolved, or a setting is wrong: the next try may find it mended.
            lines.putBack(line);
            complain(error.toString());
            return false;
        }
        // Set by now only if the client refused it at once: later it is the client's own thread that fails.
        return !refused[0];
    }

    private void failed(byte[] line, Exception error) {
        if (error instanceof RetriableException) {
            lines.putBack(line);
        } else {
            lines.drop();
        }
        complain(error.toString());
    }

    private synchronized void arrived() {
        if (complained) {
            LOG.info("penstock: telemetry gets through to {} again; {} lines were dropped", address, lines.dropped());
            complained = false;
            loggedMs = 0;
        }
    }

    private synchronized void complain(String why) {
        long now = System.currentTimeMillis();
        complained = true;
        if (now - loggedMs >= LOGS_EVERY_MS) {
            LOG.warn(
                    "penstock: telemetry does not get through to {}: {}; {} lines wait, {} were dropped",
                    address,
                    why,
                    lines.waiting(),
                    lines.dropped());
            loggedMs = now;
        }
    }

    /** Sends what waits, for some seconds at most. */
    @Override
    public void close() {
        closed = true;
        lines.close();
        long end = System.currentTimeMillis() + ENDS_WITHIN_MS;
        try {
            sender.join(ENDS_WITHIN_MS);
            sender.interrupt();
            if (producer != null) {
                producer.close(Duration.ofMillis(Math.max(0, end - System.currentTimeMillis())));
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException error) {
            complain(error.toString());
        }
        lines.dropAll();
        if (lines.dropped() > 0) {
            LOG.warn("penstock: {} lines of telemetry did not get through to {}", lines.dropped(), address);
        }
    }
}
