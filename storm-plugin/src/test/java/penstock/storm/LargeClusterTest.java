package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.storm.scheduler.SupervisorDetails;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A thousand machines, four thousand executors. The times printed are read by nobody but people. */
class LargeClusterTest {
    private static final int MACHINES = 1000;
    private static final int PER_MACHINE = 4;

    @TempDir
    Path folder;

    private static String name(int machine) {
        return "m" + machine;
    }

    /** Component c has its instance i on machine i; what is on m goes to m + 1 when m is lost. */
    private static String planText() {
        List<Object> ifLost = new ArrayList<>();
        Map<String, Object> components = new LinkedHashMap<>();
        for (int c = 0; c < PER_MACHINE; c++) {
            components.put("c" + c, IntStream.range(0, MACHINES)
                    .mapToObj(m -> Map.of("machine", name(m), "slot", 0)).toList());
        }
        for (int m = 0; m < MACHINES; m++) {
            int lost = m;
            ifLost.add(Map.of("machine", name(m), "moves", IntStream.range(0, PER_MACHINE)
                    .mapToObj(c -> Map.of(
                            "component", "c" + c, "instance", lost, "machine", name((lost + 1) % MACHINES), "slot", 0))
                    .toList()));
        }
        List<String> names = IntStream.range(0, MACHINES).mapToObj(LargeClusterTest::name).toList();
        Map<String, Object> plan = new LinkedHashMap<>();
        plan.put("format", "penstock/plan");
        plan.put("version", 1);
        plan.put("topologies", List.of(Map.of("name", "large", "components", components)));
        plan.put("if_lost", ifLost);
        plan.put("inputs", Map.of(
                "topologies", List.of(Map.of("name", "large")), "cluster", Map.of("machines", List.of(Map.of("type", "t", "names", names)))));
        return Json.line(plan);
    }

    @Test
    void aPlanForAThousandMachinesIsFollowedAndEveryMachineMayBeLost() throws Exception {
        Path file = folder.resolve("plan.json");
        Files.writeString(file, planText());
        Simulated storm = new Simulated();
        IntStream.range(0, MACHINES)
                .forEach(m -> storm.machine("id-" + name(m), "host-" + m, Map.of("machine", name(m)), 4));
        Map<String, Integer> counts = new LinkedHashMap<>();
        IntStream.range(0, PER_MACHINE).forEach(c -> counts.put("c" + c, MACHINES));
        storm.topology("large", counts);
        PlanScheduler scheduler = Simulated.scheduler(file);
        timed("first round, with reading the plan", storm, scheduler);
        List<String> planned = IntStream.range(0, MACHINES).mapToObj(LargeClusterTest::name).toList();
        assertEquals(planned, storm.where("large", "c3"));
        timed("a round with nothing to do", storm, scheduler);
        for (int again = 0; again < 3; again++) {
            storm.forget("large");
            timed("the whole plan", storm, scheduler);
        }
        for (int m = 0; m < MACHINES; m += 50) {
            SupervisorDetails lost = storm.supervisors.remove("id-" + name(m));
            storm.round(scheduler);
            assertTrue(storm.isWhole("large"));
            assertEquals(name((m + 1) % MACHINES), storm.where("large", "c1").get(m));
            storm.supervisors.put(lost.getId(), lost);
        }
    }

    private static void timed(String what, Simulated storm, PlanScheduler scheduler) {
        long[] took = new long[2];
        storm.round(new Timed(scheduler, took));
        System.out.printf("%s: %.1f ms, %.1f ms of it CPU, on %d machines%n", what, took[0] / 1e6, took[1] / 1e6, MACHINES);
    }

    /** Times the scheduler alone, without the cluster that the test builds around it. */
    private record Timed(PlanScheduler scheduler, long[] took) implements org.apache.storm.scheduler.IScheduler {
        @Override
        public void prepare(Map<String, Object> conf, org.apache.storm.metric.StormMetricsRegistry metrics) {}

        @Override
        public void schedule(org.apache.storm.scheduler.Topologies topologies, org.apache.storm.scheduler.Cluster cluster) {
            long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            long began = System.nanoTime();
            scheduler.schedule(topologies, cluster);
            took[0] = System.nanoTime() - began;
            took[1] = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
        }

        @Override
        public Map<?, ?> config() {
            return Map.of();
        }

        @Override
        public void nodeAssignmentSent(String node, boolean successful) {}
    }
}
