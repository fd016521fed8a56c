package penstock.storm;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.SupervisorDetails;

/**
 * Finds the supervisor a plan means by a machine's name.
 *
 * <p>A name is, in this order: the {@code machine} of {@code supervisor.scheduler.meta}, a supervisor's id,
 * the host the plan gives for it, a host's name.
 */
final class Machines {
    static final String META_NAME = "machine";

    private final Cluster cluster;
    private final Map<String, String> hosts;
    private final Map<String, List<SupervisorDetails>> byMeta = new HashMap<>();
    private final Map<String, List<SupervisorDetails>> byHost = new HashMap<>();
    /** What was found before; null stands for a machine that is not there. */
    private final Map<String, SupervisorDetails> known = new HashMap<>();

    Machines(Cluster cluster, Map<String, String> hosts) {
        this.cluster = cluster;
        this.hosts = hosts;
        for (SupervisorDetails supervisor : cluster.getSupervisors().values()) {
            if (supervisor.getSchedulerMeta() instanceof Map<?, ?> meta && meta.get(META_NAME) != null) {
                byMeta.computeIfAbsent(meta.get(META_NAME).toString(), name -> new ArrayList<>()).add(supervisor);
            }
            if (supervisor.getHost() != null) {
                byHost.computeIfAbsent(supervisor.getHost(), name -> new ArrayList<>()).add(supervisor);
            }
        }
    }

    /** The supervisor, or null if it is not there or Storm's blacklist hides it. */
    SupervisorDetails find(String machine) throws PlanException {
        if (!known.containsKey(machine)) {
            known.put(machine, search(machine));
        }
        return known.get(machine);
    }

    private SupervisorDetails search(String machine) throws PlanException {
        SupervisorDetails found = one(machine, byMeta.get(machine));
        if (found == null) {
            found = cluster.getSupervisorById(machine);
        }
        if (found == null && hosts.get(machine) != null) {
            found = one(machine, byHost.get(hosts.get(machine)));
        }
        if (found == null) {
            found = one(machine, byHost.get(machine));
        }
        return found == null || cluster.isBlackListed(found.getId()) ? null : found;
    }

    private static SupervisorDetails one(String machine, List<SupervisorDetails> found) throws PlanException {
        if (found == null) {
            return null;
        }
        if (found.size() > 1) {
            throw new PlanException(
                    found.size() + " supervisors are called " + machine + "; set machine in supervisor.scheduler.meta");
        }
        return found.get(0);
    }
}
