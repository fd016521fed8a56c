package penstock.storm;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** CPU time of this process and of its executors' threads, in nanoseconds since they began. */
class JvmCpu {
    /** An executor: its component, and its tasks from first to last. */
    record Executor(String component, int first, int last) {}

    private static final Pattern NAME = Pattern.compile("Thread-\\d+-(.+)-executor\\[(-?\\d+), *(-?\\d+)\\]");

    private final ThreadMXBean threads;
    /** Threads are asked for their name once. */
    private final Map<Long, Executor> executors = new HashMap<>();
    private final Set<Long> others = new HashSet<>();

    JvmCpu(ThreadMXBean threads) {
        this.threads = threads;
    }

    Map<Executor, Long> executors() {
        Map<Executor, Long> cpu = new HashMap<>();
        Set<Long> alive = new HashSet<>();
        for (long id : threads.getAllThreadIds()) {
            alive.add(id);
            Executor executor = executorOf(id);
            long ns = executor == null ? -1 : threads.getThreadCpuTime(id);
            if (ns >= 0) {
                cpu.merge(executor, ns, Long::sum);
            }
        }
        executors.keySet().retainAll(alive);
        others.retainAll(alive);
        return cpu;
    }

    private Executor executorOf(long id) {
        if (others.contains(id)) {
            return null;
        }
        return executors.computeIfAbsent(id, unknown -> {
            ThreadInfo info = threads.getThreadInfo(id);
            Matcher name = info == null ? null : NAME.matcher(info.getThreadName());
            if (name == null || !name.matches()) {
                others.add(id);
                return null;
            }
            return new Executor(name.group(1), Integer.parseInt(name.group(2)), Integer.parseInt(name.group(3)));
        });
    }

    long process() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof com.sun.management.OperatingSystemMXBean system
                ? system.getProcessCpuTime()
                : -1;
    }

    double memoryMb() {
        long used = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
                + ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed();
        return used / 1048576.0;
    }

    double uptimeSeconds() {
        return ManagementFactory.getRuntimeMXBean().getUptime() / 1000.0;
    }
}
