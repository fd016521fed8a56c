package penstock.storm.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LabTopologyTest {
    @TempDir
    Path folder;

    private static Set<String> streams(StormTopology topology) {
        return topology.get_bolts().entrySet().stream()
                .flatMap(bolt -> bolt.getValue().get_common().get_inputs().entrySet().stream()
                        .map(input -> input.getKey().get_componentId() + ">" + bolt.getKey() + " " + kind(input.getValue())))
                .collect(Collectors.toSet());
    }

    private static String kind(Grouping grouping) {
        return grouping.getSetField().name().toLowerCase(java.util.Locale.ROOT);
    }

    /** As the examples of the Python package are drawn, by the same names. */
    @Test
    void shapesAreThoseOfTheExamples() {
        assertEquals(Set.of("low>mid shuffle", "mid>high shuffle"), streams(LabTopology.topology("linear", Map.of())));
        assertEquals(
                Set.of(
                        "source>mid shuffle", "source>high shuffle", "source>low shuffle",
                        "mid>sink shuffle", "high>sink shuffle", "low>sink shuffle"),
                streams(LabTopology.topology("diamond", Map.of())));
        assertEquals(
                Set.of("source-1>hub shuffle", "source-2>hub shuffle", "hub>sink-1 shuffle", "hub>sink-2 shuffle"),
                streams(LabTopology.topology("star", Map.of())));
        assertEquals(Set.of("spout>split shuffle", "split>count fields"), streams(LabTopology.topology("wordcount", Map.of())));
        assertThrows(IllegalArgumentException.class, () -> LabTopology.topology("ring", Map.of()));
    }

    @Test
    void executorsTasksAndGroupingAreAsAskedFor() {
        Map<String, Object> options =
                Map.of("executors", Map.of("mid", 3), "tasks", Map.of("mid", 12), "weighted", true);
        StormTopology linear = LabTopology.topology("linear", options);
        assertEquals(Set.of("low>mid custom_serialized", "mid>high custom_serialized"), streams(linear));
        assertEquals(3, linear.get_bolts().get("mid").get_common().get_parallelism_hint());
        assertTrue(linear.get_bolts().get("mid").get_common().get_json_conf().contains("\"topology.tasks\":12"));
    }

    @Test
    void executorsThatWaitPark() {
        Map<String, Object> conf = LabTopology.settings(Map.of("conf", Map.of("topology.workers", 4)));
        assertEquals("org.apache.storm.policy.WaitStrategyPark", conf.get("topology.bolt.wait.strategy"));
        assertEquals("org.apache.storm.policy.WaitStrategyPark", conf.get("topology.spout.wait.strategy"));
        assertEquals(4, conf.get("topology.workers"));
    }

    @Test
    void workTakesTheCpuItIsToldTo() {
        long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        Work.burn(20);
        long spent = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
        assertTrue(spent >= 20_000_000L, spent + " ns");
    }

    @Test
    void whatIsProvedIsInTheFileAtOnce() throws Exception {
        Proof proof = Proof.in(folder, "seen", "sink", 7);
        proof.add("1.5.0 mid");
        try (var files = Files.list(folder)) {
            assertEquals(List.of("1.5.0 mid"), Files.readAllLines(files.findFirst().orElseThrow()));
        }
        assertEquals(null, Proof.in(null, "seen", "sink", 7));
    }

    @Test
    void theSameNumberIsTheSameSentence() {
        assertEquals(Sentences.of(41), Sentences.of(41));
        assertEquals(8, Sentences.of(41).split(" ").length);
    }
}
