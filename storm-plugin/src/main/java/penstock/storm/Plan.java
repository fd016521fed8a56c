package penstock.storm;

import java.util.List;
import java.util.Map;

/**
 * A plan as the scheduler and the grouping need it: who runs where, and what to do when a machine is lost.
 *
 * @param id names this very plan in status lines: the first digits of its file's SHA-256
 * @param topologies by name, in the plan's order
 * @param hosts what Storm calls each machine, where the plan says so
 */
public record Plan(String id, Map<String, Topology> topologies, Map<String, String> hosts) {

    /** Where one instance runs; {@code share} is its part of the component's input, null if even. */
    public record Place(String machine, int slot, Double share) {}

    /** One instance of a component: an executor, counted in the order of its tasks. */
    public record Instance(String component, int index) {}

    /**
     * What becomes of one topology when a machine is lost.
     *
     * @param moves where instances go, also some that run elsewhere
     * @param dropped instances the plan would rather do without; Storm keeps every executor
     */
    public record Contingency(Map<Instance, Place> moves, List<Instance> dropped) {}

    /**
     * The places of one topology.
     *
     * @param version Storm's topology.version that the plan was made for, or null
     * @param submission Storm's id of the topology that the plan was made from, or null
     * @param components the places of each component's instances
     * @param ifLost by machine
     */
    public record Topology(
            String name,
            String version,
            String submission,
            Map<String, List<Place>> components,
            Map<String, Contingency> ifLost) {

        /** Whether it was made from another submission than this one. */
        boolean isStaleFor(String run) {
            return submission != null && !submission.equals(run);
        }
    }
}
