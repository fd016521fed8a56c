package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.storm.scheduler.SupervisorDetails;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A thousand machines, four thousand executors. Times are printed for people, a figure for benchmarks. */
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
        double best = Double.MAX_VALUE;
        for (int again = 0; again < 10; again++) {
            storm.forget("large");
            best = Math.min(best, timed("the whole plan", storm, scheduler));
        }
        long began = System.nanoTime();
        double[] roundsMs = new double[MACHINES];
        for (int m = 0; m < MACHINES; m++) {
            SupervisorDetails lost = storm.supervisors.remove("id-" + name(m));
            roundsMs[m] = round(storm, scheduler)[0] / 1e6;
            assertTrue(storm.isWhole("large"));
            List<String> where = storm.where("large", "c1");
            assertEquals(name((m + 1) % MACHINES), where.get(m));
            assertFalse(where.contains(name(m)));
            storm.supervisors.put(lost.getId(), lost);
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        Arrays.sort(roundsMs);
        System.out.printf(
                "every machine lost once: median %.1f ms, longest %.1f ms; %.1f s for all, with building the cluster%n",
                roundsMs[MACHINES / 2], roundsMs[MACHINES - 1], seconds);
        // The best: what the scheduler takes where nothing else has the core.
        System.out.printf(Locale.ROOT, "penstock-figure scheduler.whole_plan_ms %.3f%n", best);
    }

    private static double timed(String what, Simulated storm, PlanScheduler scheduler) {
        long[] took = round(storm, scheduler);
        System.out.printf(
                "%s: %.1f ms, %.1f ms of it CPU, on %d machines%n", what, took[0] / 1e6, took[1] / 1e6, MACHINES);
        return took[0] / 1e6;
    }

    private static long[] round(Simulated storm, PlanScheduler scheduler) {
        long[] took = new long[2];
        storm.round(new Timed(scheduler, took));
        return took;
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
