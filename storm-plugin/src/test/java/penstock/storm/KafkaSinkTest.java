package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KafkaSinkTest {
    private static final KafkaAddress ADDRESS = new KafkaAddress("b:9092", "telemetry");

    @TempDir
    Path folder;

    private static MockProducer<byte[], byte[]> producer(boolean answers) {
        return new MockProducer<>(answers, null, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static KafkaSink sink(MockProducer<byte[], byte[]> producer, long mostBytes) {
        return new KafkaSink(() -> producer, ADDRESS, "run@h@6700", mostBytes);
    }

    private static List<String> sent(MockProducer<byte[], byte[]> producer) {
        return producer.history().stream()
                .map(record -> new String(record.value(), StandardCharsets.UTF_8))
                .toList();
    }

    private static void await(BooleanSupplier holds) throws InterruptedException {
        long end = System.currentTimeMillis() + 30_000;
        while (!holds.getAsBoolean()) {
            assertTrue(System.currentTimeMillis() < end, "waited half a minute");
            Thread.sleep(5);
        }
    }

    @Test
    void linesOfAWorkerStayInOrder() throws Exception {
        MockProducer<byte[], byte[]> producer = producer(true);
        KafkaSink sink = sink(producer, 1000);
        sink.start();
        List<String> lines = IntStream.range(0, 50).mapToObj(i -> "line " + i).toList();
        sink.write(lines);
        sink.close();
        assertEquals(lines, sent(producer));
        assertEquals("run@h@6700", new String(producer.history().get(0).key(), StandardCharsets.UTF_8));
        assertEquals("telemetry", producer.history().get(0).topic());
        assertEquals(0, sink.dropped());
        assertTrue(producer.closed());
    }

    @Test
    void aBrokerThatIsAwayCostsTheOldestLinesAndNoWaiting() throws Exception {
        MockProducer<byte[], byte[]> producer = producer(true);
        CountDownLatch back = new CountDownLatch(1);
        KafkaSink sink = new KafkaSink(
                () -> {
                    if (back.getCount() > 0) {
                        throw new KafkaException("No resolvable bootstrap urls given");
                    }
                    return producer;
                },
                ADDRESS,
                "k",
                30);
        sink.start();
        // Ten bytes each: there is room for three of a hundred, wherever the sender is just now.
        for (int i = 0; i < 100; i++) {
            sink.write(List.of(String.format("line%06d", i)));
        }
        back.countDown();
        await(() -> sent(producer).contains("line000099"));
        List<String> sent = sent(producer);
        assertEquals(List.of("line000097", "line000098", "line000099"), sent.subList(sent.size() - 3, sent.size()));
        // One more than there is room for may have been in the sender's hands.
        assertEquals(100, sink.dropped() + sent.size());
        assertTrue(sent.size() <= 4, sent.toString());
        sink.close();
    }

    @Test
    void whatTheBrokerMayTakeLaterIsSentAgainAndWhatItNeverTakesIsCounted() throws Exception {
        MockProducer<byte[], byte[]> producer = producer(false);
        KafkaSink sink = sink(producer, 1000);
        sink.start();
        sink.write(List.of("one", "two"));
        await(() -> sent(producer).size() == 2);
        assertTrue(producer.errorNext(new TimeoutException("the broker did not answer")));
        await(() -> sent(producer).size() == 3);
        assertEquals(List.of("one", "two", "one"), sent(producer));
        assertTrue(producer.errorNext(new RecordTooLargeException("two")));
        assertTrue(producer.completeNext());
        assertEquals(1, sink.dropped());
        sink.close();
        assertEquals(1, sink.dropped());
    }

    @Test
    void aClientThatRefusesALineIsAskedAgain() throws Exception {
        MockProducer<byte[], byte[]> producer = producer(true);
        producer.sendException = new KafkaException("interceptor");
        KafkaSink sink = sink(producer, 1000);
        sink.start();
        sink.write(List.of("one"));
        Thread.sleep(50);
        producer.sendException = null;
        await(() -> sent(producer).equals(List.of("one")));
        sink.close();
        assertEquals(0, sink.dropped());
    }

    @Test
    void whatNobodyTookByTheEndIsCounted() {
        KafkaSink sink = new KafkaSink(
                () -> {
                    throw new KafkaException("away");
                },
                ADDRESS,
                "k",
                1000);
        sink.start();
        sink.write(List.of("one", "two"));
        sink.close();
        assertEquals(2, sink.dropped());
    }

    @Test
    void anAddressNamesBrokersWithPortsAndATopic() {
        assertEquals(new KafkaAddress("a:1,b:2", "t"), KafkaAddress.of("kafka://a:1,b:2/t"));
        assertEquals(new KafkaAddress("[::1]:9092", "t"), KafkaAddress.of("kafka://[::1]:9092/t"));
        for (String wrong : List.of("a:1/t", "kafka://a/t", "kafka://a:1", "kafka://a:1/", "kafka://a:1/b/c", "kafka://,a:1/t")) {
            assertThrows(IllegalArgumentException.class, () -> KafkaAddress.of(wrong), wrong);
        }
    }

    @Test
    void propertiesOfTheClientComeFromAFileAndBoundsFromUs() throws Exception {
        Path config = Files.writeString(
                folder.resolve("client.properties"),
                "security.protocol=SSL\nmax.block.ms=600000\nlinger.ms=5\nbootstrap.servers=other:1\n");
        Properties properties = KafkaSink.properties(ADDRESS, config, 1 << 20);
        assertEquals("SSL", properties.get("security.protocol"));
        assertEquals("5", properties.get("linger.ms"));
        assertEquals("1000", properties.get("max.block.ms"));
        assertEquals("b:9092", properties.get("bootstrap.servers"));
        assertEquals(String.valueOf(1 << 19), properties.get("buffer.memory"));
    }

    // -- the reporter --------------------------------------------------------------------------

    /** Loads the plugin's classes itself, and does as if there were no kafka-clients. */
    private static final class WithoutKafka extends ClassLoader {
        WithoutKafka() {
            super(KafkaSinkTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("org.apache.kafka.")) {
                throw new ClassNotFoundException(name);
            }
            if (!name.startsWith("penstock.storm.")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : define(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream content = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = content.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    private List<String> filesOf(ClassLoader loader, String address) throws Exception {
        Object reporter = loader.loadClass("penstock.storm.TelemetryReporter").getDeclaredConstructor().newInstance();
        Map<String, Object> settings = new HashMap<>();
        settings.put(TelemetryReporter.FOLDER, folder.toString());
        settings.put(TelemetryReporter.KAFKA, address);
        Thread executor = executorThread();
        reporter.getClass()
                .getMethod("prepare", MetricRegistry.class, Map.class, Map.class)
                .invoke(reporter, new MetricRegistry(), new HashMap<>(Map.of("topology.name", "t")), settings);
        for (String step : List.of("start", "report", "report", "stop")) {
            var method = reporter.getClass().getDeclaredMethod(step);
            method.setAccessible(true);
            awaitNextMillisecond(); // a window of no length is none
            method.invoke(reporter);
        }
        executor.interrupt();
        try (Stream<Path> written = Files.list(folder)) {
            return new ArrayList<>(written.map(path -> path.getFileName().toString()).toList());
        }
    }

    private static void awaitNextMillisecond() {
        long now = System.currentTimeMillis();
        while (System.currentTimeMillis() <= now) {
            Thread.onSpinWait();
        }
    }

    private static Thread executorThread() {
        Thread thread = new Thread(
                () -> {
                    try {
                        Thread.sleep(60_000);
                    } catch (InterruptedException ended) {
                        Thread.currentThread().interrupt();
                    }
                },
                "Thread-15-high-executor[2, 5]");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    @Test
    void withoutKafkasClientLinesGoToFiles() throws Exception {
        assertEquals(1, filesOf(new WithoutKafka(), "kafka://127.0.0.1:9/t").size());
    }

    @Test
    void underAnAddressThatIsNoneLinesGoToFiles() throws Exception {
        assertEquals(1, filesOf(getClass().getClassLoader(), "127.0.0.1:9092").size());
    }

    @Test
    void whereNoBrokerListensTheReporterGoesOn() throws Exception {
        assertEquals(List.of(), filesOf(getClass().getClassLoader(), "kafka://127.0.0.1:9/t"));
    }
}
