package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlanSchedulerTest {
    private static final String[] LAB = {"large", "medium", "small", "spare"};

    @TempDir
    Path folder;

    private Path file;
    private Simulated storm;

    @BeforeEach
    void makeLab() {
        file = folder.resolve("plan.json");
        storm = new Simulated().machines(2, LAB);
    }

    private Plan publish(String text) throws Exception {
        Path written = folder.resolve(".plan.json");
        Files.writeString(written, text, StandardCharsets.UTF_8);
        Files.move(written, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        return PlanReader.read(text.getBytes(StandardCharsets.UTF_8));
    }

    private void runs(Plan plan, String... names) {
        for (String name : names) {
            String version = plan.topologies().get(name).version();
            storm.planned(plan, name, version == null ? Map.of() : Map.of("topology.version", version));
        }
    }

    private void isPlaced(Plan plan, String topology) {
        plan.topologies().get(topology).components().forEach((component, places) -> assertEquals(
                places.stream().map(Plan.Place::machine).toList(), storm.where(topology, component), component));
    }

    @ParameterizedTest
    @ValueSource(strings = {"linear", "weighted", "two"})
    void placesAsThePlanSays(String fixture) throws Exception {
        Plan plan = publish(Simulated.text(fixture + ".json"));
        String[] names = plan.topologies().keySet().toArray(new String[0]);
        runs(plan, names);
        storm.round(Simulated.scheduler(file));
        for (String name : names) {
            isPlaced(plan, name);
            assertEquals("penstock: placed by plan " + plan.id(), storm.status(name));
            // Worker by worker: as many processes as the plan has pairs of machine and slot.
            Set<Object> workers = new HashSet<>();
            plan.topologies().get(name).components().values().forEach(
                    places -> places.forEach(place -> workers.add(List.of(place.machine(), place.slot()))));
            assertEquals(workers.size(), new HashSet<>(storm.slots(name).values()).size());
        }
    }

    @Test
    void everythingElseGoesToStormInTheSameRound() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        storm.topology("other", Map.of("a", 2, "b", 3), 2, Map.of());
        storm.round(Simulated.scheduler(file));
        isPlaced(plan, "linear");
        assertTrue(storm.isWhole("other"));
        Set<WorkerSlot> shared = new HashSet<>(storm.slots("other").values());
        shared.retainAll(storm.slots("linear").values());
        assertEquals(Set.of(), shared);
    }

    @Test
    void withoutAPlanItIsStormsOwnScheduler() {
        storm.topology("linear", Map.of("low", 2, "mid", 3), 2, Map.of());
        storm.topology("other", Map.of("a", 2), 1, Map.of());
        Simulated plain = new Simulated().machines(2, LAB);
        plain.topologies.addAll(storm.topologies);
        DefaultScheduler own = new DefaultScheduler();
        own.prepare(Simulated.conf(file), new StormMetricsRegistry());
        plain.round(own);
        storm.round(Simulated.scheduler(file));
        assertEquals(plain.slots("linear"), storm.slots("linear"));
        assertEquals(plain.slots("other"), storm.slots("other"));
        assertTrue(storm.status("linear").contains("because there is no file"), storm.status("linear"));
    }

    static Stream<String[]> broken() {
        return Stream.of(
                new String[] {"not JSON", "\"format\"", "format", "the plan is broken"},
                new String[] {"another format", "penstock/plan", "penstock/plans", "the plan is broken"},
                new String[] {"no such component", "\"high\"", "\"hihg\"", "the plan is for another version"});
    }

    @ParameterizedTest
    @MethodSource("broken")
    void aPlanThatCannotBeFollowedIsRefused(String name, String old, String changed, String why) throws Exception {
        Plan whole = PlanReader.read(Simulated.text("linear.json").getBytes(StandardCharsets.UTF_8));
        runs(whole, "linear");
        Files.writeString(file, Simulated.text("linear.json").replace(old, changed));
        storm.round(Simulated.scheduler(file));
        assertTrue(storm.isWhole("linear"), name);
        assertTrue(storm.status("linear").contains(why), storm.status("linear"));
    }

    @Test
    void otherExecutorCountsAreRefusedWithTheRebalanceThatMendsIt() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        Map<String, Integer> counts = new HashMap<>();
        plan.topologies().get("linear").components().forEach((name, places) -> counts.put(name, places.size()));
        int planned = counts.put("mid", counts.get("mid") + 1);
        storm.topology("linear", counts);
        storm.round(Simulated.scheduler(file));
        assertTrue(storm.isWhole("linear"));
        assertTrue(storm.status("linear").contains("rebalance with -e mid=" + planned), storm.status("linear"));
    }

    @Test
    void whatWasSaidInOneRoundIsNotSaidAgainInTheNext() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        Map<String, Integer> counts = new HashMap<>();
        plan.topologies().get("linear").components().forEach((name, places) -> counts.put(name, places.size()));
        counts.merge("mid", 1, Integer::sum);
        storm.topology("linear", counts);
        PlanScheduler scheduler = Simulated.scheduler(file);
        for (int round = 0; round < 3; round++) {
            storm.round(scheduler);
            String status = storm.status("linear");
            assertTrue(status.startsWith("penstock: placed by Storm's own scheduler"), status);
            assertEquals(0, status.lastIndexOf("penstock: "), status);
        }
    }

    @Test
    void whatWasSaidOfATopologyIsForgottenWithItsPlan() throws Exception {
        Plan plan = publish(Simulated.text("two.json"));
        PlanScheduler scheduler = Simulated.scheduler(file);
        plan.topologies().keySet().forEach(name -> storm.planned(plan, name, Map.of("topology.version", "7")));
        storm.round(scheduler);
        assertTrue(storm.status("linear").startsWith("penstock: "), storm.status("linear"));
        publish(Simulated.text("linear.json").replace("\"linear\"", "\"another\""));
        storm.round(scheduler);
        assertEquals("", storm.status("linear"));
    }

    @Test
    void anotherVersionIsRefused() throws Exception {
        Plan plan = publish(Simulated.text("two.json"));
        storm.planned(plan, "linear", Map.of("topology.version", "8"));
        storm.round(Simulated.scheduler(file));
        assertTrue(storm.isWhole("linear"));
        assertTrue(storm.status("linear").contains("the plan is for version 7, this is 8"), storm.status("linear"));
    }

    /** The fixture with the submission it was made from. */
    private static String madeFrom(String submission) {
        return Simulated.text("linear.json").replaceFirst("\\{",
                "{\"deployed\": [{\"topology\": \"linear\", \"id\": \"" + submission + "\", \"components\": {}}],");
    }

    @Test
    void thePlanOfThisVerySubmissionIsFollowed() throws Exception {
        Plan plan = publish(madeFrom("linear-1-100"));
        runs(plan, "linear");
        storm.round(Simulated.scheduler(file));
        isPlaced(plan, "linear");
        assertEquals("penstock: placed by plan " + plan.id(), storm.status("linear"));
    }

    @Test
    void aPlanOfAnotherSubmissionIsStaleAndSaidToBe() throws Exception {
        Plan plan = publish(madeFrom("linear-9-99"));
        runs(plan, "linear");
        storm.round(Simulated.scheduler(file));
        assertTrue(storm.isWhole("linear"));
        String status = storm.status("linear");
        assertTrue(status.startsWith("penstock: placed by Storm's own scheduler"), status);
        assertTrue(status.endsWith("the plan is for submission linear-9-99, this is linear-1-100; plan again"), status);
    }

    @ParameterizedTest
    @ValueSource(strings = {"true", "false", "nonsense"})
    void resubmittedTopologiesAreFollowedIfNimbusIsToldSo(String setting) throws Exception {
        Plan plan = publish(madeFrom("linear-9-99"));
        runs(plan, "linear");
        Map<String, Object> conf = Simulated.conf(file);
        conf.put(PlanScheduler.FOLLOW_RESUBMITTED, setting.equals("true") ? (Object) true : setting);
        storm.round(Simulated.scheduler(conf));
        assertTrue(storm.isWhole("linear"));
        assertEquals(setting.equals("true"), storm.status("linear").startsWith("penstock: placed by plan"));
    }

    @Test
    void aPlanThatIsKeptIsFollowedBesideTheNewOne() throws Exception {
        String two = Simulated.text("two.json");
        Plan plan = publish(Simulated.text("linear.json").replaceFirst("\\{",
                java.util.regex.Matcher.quoteReplacement("{\"kept\": [" + two + "],")));
        runs(plan, "linear", "star");
        storm.round(Simulated.scheduler(file));
        isPlaced(PlanReader.read(Simulated.text("linear.json").getBytes(StandardCharsets.UTF_8)), "linear");
        isPlaced(PlanReader.read(two.getBytes(StandardCharsets.UTF_8)), "star");
    }

    @Test
    void aMachineWithoutRoomIsRefused() throws Exception {
        storm = new Simulated().machines(1, LAB);
        Plan plan = publish(Simulated.text("linear.json"));
        PlanScheduler scheduler = Simulated.scheduler(file);
        storm.topology("other", Map.of("a", 3), 3, Map.of());
        storm.round(scheduler);
        runs(plan, "linear");
        storm.round(scheduler);
        assertTrue(storm.isWhole("linear"));
        assertTrue(storm.status("linear").contains("has no free slot"), storm.status("linear"));
    }

    @Test
    void twoSupervisorsOfOneNameAreRefused() throws Exception {
        storm.machine("id-copy", "127.0.0.99", Map.of("machine", "large"), 2);
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        storm.round(Simulated.scheduler(file));
        assertTrue(storm.isWhole("linear"));
        assertTrue(storm.status("linear").contains("2 supervisors are called large"), storm.status("linear"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void machinesAreFoundByHostOrById(boolean byHost) throws Exception {
        storm = new Simulated();
        for (int i = 0; i < LAB.length; i++) {
            storm.machine(byHost ? "id-" + LAB[i] : LAB[i], byHost ? "127.0.0." + (11 + i) : "here", null, 2);
        }
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        storm.round(Simulated.scheduler(file));
        isPlaced(plan, "linear");
    }

    @Test
    void aFileCutAnywhereFallsBackAndNeverThrows() throws Exception {
        byte[] whole = Simulated.text("linear.json").getBytes(StandardCharsets.UTF_8);
        Plan plan = PlanReader.read(whole);
        for (int length = 0; length < whole.length - 1; length += 7) {
            storm = new Simulated().machines(2, LAB);
            runs(plan, "linear");
            Files.write(file, java.util.Arrays.copyOf(whole, length));
            storm.round(Simulated.scheduler(file));
            assertTrue(storm.isWhole("linear"), "cut at " + length);
        }
    }

    @Test
    void aPlanCutWhileItIsWrittenLeavesTheLastGoodOneInForce() throws Exception {
        String text = Simulated.text("linear.json");
        Plan plan = publish(text);
        runs(plan, "linear");
        PlanScheduler scheduler = Simulated.scheduler(file);
        storm.round(scheduler);
        Files.writeString(file, text.substring(0, text.length() / 2));
        storm.forget("linear");
        storm.round(scheduler);
        isPlaced(plan, "linear");
        assertTrue(storm.status("linear").contains("the last good one holds"), storm.status("linear"));
        Files.delete(file);
        storm.forget("linear");
        storm.round(scheduler);
        assertTrue(storm.status("linear").contains("there is no file"), storm.status("linear"));
    }

    @Test
    void nothingThatRunsIsMovedAndARebalanceMovesIt() throws Exception {
        Plan first = publish(Simulated.text("weighted.json"));
        runs(first, "linear");
        PlanScheduler scheduler = Simulated.scheduler(file);
        storm.round(scheduler);
        Map<ExecutorDetails, WorkerSlot> before = Map.copyOf(storm.slots("linear"));
        Plan second = publish(Simulated.text("weighted.json").replace("{\"machine\": \"large\", \"slot\": 0, \"share\": 1.0}",
                "{\"machine\": \"large\", \"slot\": 1, \"share\": 1.0}").replaceFirst("\"machine\": \"medium\", \"slot\": 0, \"share\"",
                "\"machine\": \"spare\", \"slot\": 1, \"share\""));
        assertFalse(first.topologies().equals(second.topologies()));
        storm.round(scheduler);
        assertEquals(before, storm.slots("linear"));
        assertTrue(storm.status("linear").contains("a rebalance moves them"), storm.status("linear"));
        storm.forget("linear");
        storm.round(scheduler);
        isPlaced(second, "linear");
    }

    @Test
    void aRebalanceLeavesWorkersThatStayOnTheirPorts() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        PlanScheduler scheduler = Simulated.scheduler(file);
        // Another topology takes port 6700 everywhere, and is gone before the rebalance.
        storm.topology("other", Map.of("a", 4), 4, Map.of());
        DefaultScheduler own = new DefaultScheduler();
        own.prepare(Simulated.conf(file), new StormMetricsRegistry());
        storm.topologies.removeIf(t -> t.getName().equals("linear"));
        storm.round(own);
        runs(plan, "linear");
        storm.round(scheduler);
        Map<ExecutorDetails, WorkerSlot> before = Map.copyOf(storm.slots("linear"));
        storm.topologies.removeIf(t -> t.getName().equals("other"));
        storm.assignments.remove("other-1-100");
        storm.forget("linear");
        storm.round(scheduler);
        assertEquals(before, storm.slots("linear"));
    }

    @Test
    void aTopologyWithFewerWorkersThanItAskedForIsLeftAlone() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        Map<String, Integer> counts = new HashMap<>();
        plan.topologies().get("linear").components().forEach((name, places) -> counts.put(name, places.size()));
        // Storm calls it in need of scheduling for ever: 8 workers asked for, 4 planned.
        storm.topology("linear", counts, 8, Map.of());
        PlanScheduler scheduler = Simulated.scheduler(file);
        storm.topology("other", Map.of("a", 2), 1, Map.of());
        for (int round = 0; round < 3; round++) {
            storm.round(scheduler);
            isPlaced(plan, "linear");
            assertTrue(storm.isWhole("other"));
        }
    }

    @Test
    void ackersThePlanDoesNotKnowJoinThePlannedWorkers() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        Map<String, Integer> counts = new HashMap<>(Map.of("__acker", 5));
        plan.topologies().get("linear").components().forEach((name, places) -> counts.put(name, places.size()));
        storm.topology("linear", counts);
        storm.round(Simulated.scheduler(file));
        isPlaced(plan, "linear");
        assertTrue(storm.isWhole("linear"));
        Set<WorkerSlot> planned = new HashSet<>();
        storm.details("linear").getExecutorToComponent().forEach((executor, name) -> {
            if (!name.startsWith("__")) {
                planned.add(storm.slots("linear").get(executor));
            }
        });
        assertEquals(planned, new HashSet<>(storm.slots("linear").values()));
    }

    /** Throws in every round. */
    public static final class Failing implements IScheduler {
        @Override
        public void prepare(Map<String, Object> conf, StormMetricsRegistry metrics) {}

        @Override
        public void schedule(Topologies topologies, Cluster cluster) {
            throw new IllegalStateException("always");
        }

        @Override
        public Map<?, ?> config() {
            return Map.of();
        }

        @Override
        public void nodeAssignmentSent(String node, boolean successful) {}
    }

    @Test
    void aFallbackThatFailsHarmsNoPlannedTopology() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        storm.topology("other", Map.of("a", 2));
        Map<String, Object> conf = Simulated.conf(file);
        conf.put(PlanScheduler.FALLBACK, Failing.class.getName());
        storm.round(Simulated.scheduler(conf));
        isPlaced(plan, "linear");
    }

    @Test
    void thePlanComesThroughStormsLoaderToo() throws Exception {
        Path loaded = folder.resolve("loaded.yaml");
        Files.writeString(loaded, "{\"penstock.plan\": " + Simulated.text("two.json") + "}");
        Map<String, Object> conf = Simulated.conf(file);
        conf.remove(PlanSource.FILE);
        conf.put("scheduler.config.loader.uri", loaded.toUri().toString());
        Plan plan = PlanReader.read(Simulated.text("two.json").getBytes(StandardCharsets.UTF_8));
        runs(plan, "linear", "star");
        storm.round(Simulated.scheduler(conf));
        isPlaced(plan, "linear");
        isPlaced(plan, "star");
    }

    @Test
    void theResourceAwareSchedulerMayBeTheFallback() throws Exception {
        Plan plan = publish(Simulated.text("linear.json"));
        runs(plan, "linear");
        storm.topology("other", Map.of("a", 2), 1, Map.of());
        Map<String, Object> conf = Simulated.conf(file);
        conf.put(PlanScheduler.FALLBACK, "org.apache.storm.scheduler.resource.ResourceAwareScheduler");
        storm.round(Simulated.scheduler(conf));
        isPlaced(plan, "linear");
        assertTrue(storm.isWhole("other"), storm.status("other"));
    }
}
