package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContingencyTest {
    private static final List<String> LAB = List.of("large", "medium", "small", "spare");

    @TempDir
    Path folder;

    private Plan plan;
    private PlanScheduler scheduler;
    private Simulated storm;

    private void start(String fixture) throws Exception {
        Path file = folder.resolve("plan.json");
        String text = Simulated.text(fixture + ".json");
        Files.writeString(file, text);
        plan = PlanReader.read(text.getBytes(StandardCharsets.UTF_8));
        scheduler = Simulated.scheduler(file);
        storm = new Simulated().machines(2, LAB.toArray(new String[0]));
        for (Plan.Topology topology : plan.topologies().values()) {
            String version = topology.version();
            storm.planned(plan, topology.name(), version == null ? Map.of() : Map.of("topology.version", version));
        }
        storm.round(scheduler);
    }

    @ParameterizedTest
    @ValueSource(strings = {"linear", "weighted", "two"})
    void everyMachineMayBeLost(String fixture) throws Exception {
        for (String lost : LAB) {
            start(fixture);
            storm.supervisors.remove("id-" + lost);
            storm.round(scheduler);
            for (Plan.Topology topology : plan.topologies().values()) {
                follows(topology, lost);
            }
        }
    }

    private void follows(Plan.Topology topology, String lost) {
        assertTrue(storm.isWhole(topology.name()), lost);
        Plan.Contingency contingency = topology.ifLost().get(lost);
        topology.components().forEach((component, places) -> {
            List<String> now = storm.where(topology.name(), component);
            for (int i = 0; i < places.size(); i++) {
                Plan.Place away = contingency == null ? null : contingency.moves().get(new Plan.Instance(component, i));
                if (away != null) {
                    assertEquals(away.machine(), now.get(i), component + " " + i + " without " + lost);
                } else if (!places.get(i).machine().equals(lost)) {
                    assertEquals(places.get(i).machine(), now.get(i), component + " " + i + " without " + lost);
                } else {
                    assertFalse(now.get(i).equals(lost));
                }
            }
        });
    }

    @Test
    void nothingMovesBackWhenTheMachineReturns() throws Exception {
        start("weighted");
        SupervisorDetails medium = storm.supervisors.remove("id-medium");
        storm.round(scheduler);
        Map<ExecutorDetails, WorkerSlot> moved = Map.copyOf(storm.slots("linear"));
        assertTrue(storm.status("linear").contains("its contingency for medium"), storm.status("linear"));
        storm.supervisors.put("id-medium", medium);
        storm.round(scheduler).round(scheduler);
        assertEquals(moved, storm.slots("linear"));
        // Another loss places what is lost, and still moves nothing else back.
        storm.supervisors.remove("id-spare");
        storm.round(scheduler);
        assertTrue(storm.isWhole("linear"));
        assertEquals("large", storm.where("linear", "high").get(0));
    }

    @Test
    void aBlacklistedMachineIsAsGoodAsLost() throws Exception {
        start("weighted");
        storm.forget("linear");
        storm.round(scheduler, Set.of("127.0.0.12"));
        follows(plan.topologies().get("linear"), "medium");
    }

    @Test
    void anyTwoMachinesMayBeLostAtOnce() throws Exception {
        for (String one : LAB) {
            for (String other : LAB) {
                start("two");
                storm.supervisors.remove("id-" + one);
                storm.supervisors.remove("id-" + other);
                storm.round(scheduler);
                assertTrue(storm.isWhole("linear"), one + " and " + other);
                assertTrue(storm.isWhole("star"), one + " and " + other);
            }
        }
    }

    @Test
    void anAbsentPlannerChangesNothing() throws Exception {
        // A Nimbus that starts anew knows only the file and what runs.
        start("linear");
        storm.supervisors.remove("id-large");
        scheduler = Simulated.scheduler(folder.resolve("plan.json"));
        storm.round(scheduler);
        follows(plan.topologies().get("linear"), "large");
    }
}
