package penstock.storm;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/**
 * What to do with one topology in one round.
 *
 * @param freed workers that end, or start again with other executors
 * @param assigned the executors of each worker that starts
 * @param status what was done and why
 */
record Decision(Set<WorkerSlot> freed, Map<WorkerSlot, Set<ExecutorDetails>> assigned, String status) {

    static Decision nothing(String status) {
        return new Decision(new LinkedHashSet<>(), new LinkedHashMap<>(), status);
    }

    boolean changes() {
        return !freed.isEmpty() || !assigned.isEmpty();
    }
}
