package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.WorkerTopologyContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WeightedGroupingTest {
    private static final List<Integer> HIGH = List.of(1, 2, 3);

    @TempDir
    Path folder;

    private WeightedGrouping grouping(Path file, List<Integer> targets) {
        Map<Integer, String> components = new HashMap<>();
        targets.forEach(task -> components.put(task, "high"));
        Map<String, Object> conf = new HashMap<>(Map.of("topology.name", "linear", WeightedGrouping.FILE, file.toString()));
        StormTopology none = new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>());
        WorkerTopologyContext context = new WorkerTopologyContext(
                none, conf, components, Map.of("high", targets), Map.of(), "linear-1-1", "", "", 6700, List.of(), Map.of(), Map.of(),
                new AtomicReference<>(Map.of()), "", new AtomicReference<>(Map.of()));
        WeightedGrouping grouping = new WeightedGrouping();
        grouping.prepare(context, new GlobalStreamId("mid", "default"), targets);
        return grouping;
    }

    private static Map<Integer, Integer> counts(WeightedGrouping grouping, int tuples) {
        Map<Integer, Integer> counts = new TreeMap<>();
        for (int i = 0; i < tuples; i++) {
            counts.merge(grouping.chooseTasks(7, List.of("x")).get(0), 1, Integer::sum);
        }
        return counts;
    }

    @Test
    void tuplesFollowTheSharesOfThePlan() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        Map<Integer, Integer> counts = counts(grouping(file, HIGH), 100_000);
        // Shares 0.39399, 0.39399, 0.21201: within a dozen tuples of 100,000, where chance would miss by hundreds.
        assertEquals(39399.5, counts.get(1), 12);
        assertEquals(39399.5, counts.get(2), 12);
        assertEquals(21201.1, counts.get(3), 12);
    }

    @Test
    void anyStretchIsDividedSo() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        WeightedGrouping grouping = grouping(file, HIGH);
        for (int stretch = 0; stretch < 50; stretch++) {
            assertEquals(39.4, counts(grouping, 100).get(1), 3);
        }
    }

    @Test
    void theTasksOfAnExecutorShareItsShare() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        // Six tasks in three executors: two each, by halves.
        Map<Integer, Integer> counts = counts(grouping(file, List.of(1, 2, 3, 4, 5, 6)), 100_000);
        assertEquals(19699.7, counts.get(1), 12);
        assertEquals(19699.7, counts.get(2), 12);
        assertEquals(10600.5, counts.get(6), 12);
    }

    @Test
    void aNewPlanChangesTheSharesWithoutARestart() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        WeightedGrouping grouping = grouping(file, HIGH);
        String other = Simulated.text("weighted.json").replace("0.3939945404913558", "0.5").replace("0.21201091901728847", "0.0");
        Path next = Files.writeString(folder.resolve("next.json"), other);
        Files.move(next, file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        PlanWatch.of(file.toString(), 1 << 20).follow(plan -> {});
        Map<Integer, Integer> counts = counts(grouping, 1000);
        assertEquals(500, counts.get(1), 3);
        assertEquals(1000, counts.get(1) + counts.get(2));
    }

    @Test
    void withoutAPlanTheStreamIsDividedEvenly() {
        Map<Integer, Integer> counts = counts(grouping(folder.resolve("none.json"), HIGH), 3000);
        counts.values().forEach(count -> assertEquals(1000, count, 3));
    }

    @Test
    void sharesForOtherInstanceCountsAreNotTaken() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        Map<Integer, Integer> counts = counts(grouping(file, List.of(1, 2)), 2000);
        counts.values().forEach(count -> assertEquals(1000, count, 3));
    }

    @Test
    void spoutsShareTheirWorkAsThePlanSays() throws Exception {
        Path file = Files.writeString(folder.resolve("plan.json"), Simulated.text("weighted.json"));
        Map<String, Object> conf = Map.of("topology.name", "linear", WeightedGrouping.FILE, file.toString());
        AtomicReference<double[]> shares = new AtomicReference<>();
        // Four tasks in three executors: the first holds two, which halve its 0.39399.
        TaskShares.follow(conf, "linear-1-1", "high", 4, shares::set);
        assertArrayEquals(new double[] {0.196997, 0.196997, 0.393995, 0.212011}, shares.get(), 1e-6);
        TaskShares.follow(Map.of(), "linear-1-1", "high", 4, shares::set);
        assertArrayEquals(new double[] {0.25, 0.25, 0.25, 0.25}, shares.get());
    }

    @Test
    void thePlanOfAnotherSubmissionSaysNothingAboutThisOnesShares() throws Exception {
        String deployed = "\"deployed\": [{\"topology\": \"linear\", \"id\": \"linear-1-1\", \"components\": {}}], \"inputs\"";
        String text = Simulated.text("weighted.json").replace("\"inputs\"", deployed);
        Path file = Files.writeString(folder.resolve("plan.json"), text);
        Map<String, Object> conf = new HashMap<>(Map.of("topology.name", "linear", WeightedGrouping.FILE, file.toString()));
        AtomicReference<double[]> shares = new AtomicReference<>();
        TaskShares.follow(conf, "linear-1-1", "high", 3, shares::set);
        assertArrayEquals(new double[] {0.393995, 0.393995, 0.212011}, shares.get(), 1e-6);
        TaskShares.follow(conf, "linear-2-9", "high", 3, shares::set);
        assertArrayEquals(new double[] {1 / 3.0, 1 / 3.0, 1 / 3.0}, shares.get(), 1e-12);
        conf.put(PlanScheduler.FOLLOW_RESUBMITTED, true);
        TaskShares.follow(conf, "linear-2-9", "high", 3, shares::set);
        assertArrayEquals(new double[] {0.393995, 0.393995, 0.212011}, shares.get(), 1e-6);
    }
}
