package penstock.storm;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** The workers of one topology: those that run, and the ports of those that are to start. */
final class Workers {
    private final Cluster cluster;
    private final Map<ExecutorDetails, WorkerSlot> now;
    /** Where executors were in the last round; a rebalance hides it from the cluster. */
    private final Map<ExecutorDetails, WorkerSlot> before;

    Workers(Cluster cluster, Map<ExecutorDetails, WorkerSlot> now, Map<ExecutorDetails, WorkerSlot> before) {
        this.cluster = cluster;
        this.now = now;
        this.before = before;
    }

    /** A worker of the plan: one that runs, or one that is to start on a supervisor. */
    static final class Worker {
        final String supervisor;
        final WorkerSlot running;
        final Set<ExecutorDetails> executors = new LinkedHashSet<>();

        Worker(String supervisor, WorkerSlot running) {
            this.supervisor = supervisor;
            this.running = running;
        }
    }

    /** No free port on a machine that the plan wants to use. */
    static final class NoRoom extends Exception {
        private static final long serialVersionUID = 1L;
        final String supervisor;

        NoRoom(String supervisor) {
            super("no free port on " + supervisor);
            this.supervisor = supervisor;
        }
    }

    /** The workers that run now, without the executors that leave them. */
    Map<WorkerSlot, Worker> running(Set<ExecutorDetails> leaving) {
        Map<WorkerSlot, Worker> workers = new LinkedHashMap<>();
        List<Map.Entry<ExecutorDetails, WorkerSlot>> assigned = new ArrayList<>(now.entrySet());
        assigned.sort(Comparator.comparingInt(entry -> entry.getKey().getStartTask()));
        for (Map.Entry<ExecutorDetails, WorkerSlot> entry : assigned) {
            WorkerSlot slot = entry.getValue();
            Worker worker = workers.computeIfAbsent(slot, port -> new Worker(port.getNodeId(), port));
            if (!leaving.contains(entry.getKey())) {
                worker.executors.add(entry.getKey());
            }
        }
        return workers;
    }

    /** What must change for these workers to run and no others. */
    Decision changes(List<Worker> workers, String status) throws NoRoom {
        Set<WorkerSlot> freed = new LinkedHashSet<>();
        Map<WorkerSlot, Set<ExecutorDetails>> assigned = new LinkedHashMap<>();
        Set<WorkerSlot> kept = new HashSet<>();
        Map<WorkerSlot, Set<ExecutorDetails>> held = new HashMap<>();
        now.forEach((executor, slot) -> held.computeIfAbsent(slot, s -> new HashSet<>()).add(executor));
        for (Worker worker : workers) {
            if (worker.running == null) {
                continue;
            }
            kept.add(worker.running);
            if (!worker.executors.equals(held.get(worker.running))) {
                freed.add(worker.running);
                assigned.put(worker.running, worker.executors);
            }
        }
        held.keySet().stream().filter(slot -> !kept.contains(slot)).forEach(freed::add);
        Map<String, TreeSet<Integer>> free = new HashMap<>();
        for (Worker worker : workers) {
            if (worker.running == null) {
                WorkerSlot slot = port(worker, free.computeIfAbsent(worker.supervisor, id -> free(id, freed, assigned.keySet())));
                free.get(worker.supervisor).remove(slot.getPort());
                assigned.put(slot, worker.executors);
            }
        }
        return new Decision(freed, assigned, status);
    }

    /** Ports of a supervisor that nobody has, or that were freed and not given to another worker. */
    private TreeSet<Integer> free(String supervisor, Set<WorkerSlot> freed, Set<WorkerSlot> taken) {
        TreeSet<Integer> free = new TreeSet<>(cluster.getAvailablePorts(cluster.getSupervisorById(supervisor)));
        freed.stream()
                .filter(slot -> slot.getNodeId().equals(supervisor) && !taken.contains(slot))
                .forEach(slot -> free.add(slot.getPort()));
        return free;
    }

    /** A free port: the one its executors had before if that is free, so that a worker need not move. */
    private WorkerSlot port(Worker worker, TreeSet<Integer> free) throws NoRoom {
        if (free.isEmpty()) {
            throw new NoRoom(worker.supervisor);
        }
        Map<Integer, Integer> common = new HashMap<>();
        for (ExecutorDetails executor : worker.executors) {
            WorkerSlot was = before.get(executor);
            if (was != null && was.getNodeId().equals(worker.supervisor) && free.contains(was.getPort())) {
                common.merge(was.getPort(), 1, Integer::sum);
            }
        }
        int port = common.entrySet().stream()
                .max(Map.Entry.<Integer, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey(Comparator.reverseOrder())))
                .map(Map.Entry::getKey)
                .orElseGet(free::first);
        return new WorkerSlot(worker.supervisor, port);
    }
}
