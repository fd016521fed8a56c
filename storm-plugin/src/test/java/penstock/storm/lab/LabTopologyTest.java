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

    /** 60 tuples/s for ten seconds, nothing for five, then 20: 600 at 1,015 s and 700 at 1,020 s. */
    @Test
    void whatIsOfferedAddsUpOverTheStepsOfAFile() {
        OfferedLoad load = OfferedLoad.of("1000 60\n1010 0\n1015 20\n", 5);
        assertEquals(0, load.until(999));
        assertEquals(300, load.until(1005));
        assertEquals(600, load.until(1015));
        assertEquals(700, load.until(1020));
        assertEquals(0, load.perS(999));
        assertEquals(20, load.perS(1016));
    }

    @Test
    void aNumberAloneHoldsSinceItWasWritten() {
        OfferedLoad load = OfferedLoad.of("30.0\n", 100);
        assertEquals(30, load.perS(101));
        assertEquals(60, load.until(102));
    }

    @Test
    void aLoadThatIsBeingWrittenIsNone() {
        for (String text : List.of("", "1000", "1000 60\n10", "1000 60\n900 2", "1000 -1", "a b", "1 2 3")) {
            OfferedLoad load = OfferedLoad.of(text, 5);
            assertEquals(text.equals("1000"), load != null, text);
        }
    }

    /** Two tasks took 3 and 2 tuples, of which one each was acked; the first dies and takes its two again. */
    @Test
    void whatWasTakenAndNotAckedIsTakenAgain() {
        SourceQueue first = SourceQueue.in(folder, "low", 2, 0);
        SourceQueue second = SourceQueue.in(folder, "low", 2, 1);
        for (int i = 0; i < 3; i++) {
            first.take();
        }
        second.take();
        second.take();
        first.ack();
        second.ack();
        assertEquals(5, first.taken());
        assertEquals(5, second.taken());
        SourceQueue again = SourceQueue.in(folder, "low", 2, 0);
        again.giveBack();
        assertEquals(3, again.taken());
        assertEquals(3, second.taken());
    }
}
