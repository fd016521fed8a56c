package penstock.storm.lab;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Keeps the calling thread busy for so much CPU time, whatever else the machine does. */
final class Work {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Between two looks at the clock, which costs about a microsecond itself. */
    private static final int STEPS = 2000;

    private Work() {}

    /** Returns a number that depends on every step, so that none can be left out. */
    static long burn(double cpuMs) {
        long end = THREADS.getCurrentThreadCpuTime() + (long) (cpuMs * 1e6);
        long state = end;
        while (THREADS.getCurrentThreadCpuTime() < end) {
            for (int i = 0; i < STEPS; i++) {
                state ^= state << 13;
                state ^= state >>> 7;
                state ^= state << 17;
            }
        }
        return state;
    }
}
