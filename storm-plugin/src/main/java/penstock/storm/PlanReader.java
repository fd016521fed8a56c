package penstock.storm;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the format {@code penstock/plan}, version 1.
 *
 * <p>A file is the plan of some topologies and, under {@code kept}, what earlier plans say of others; its own word goes
 * first. Only what the cluster needs is read; what a planner wrote beside it may grow without harm. Whatever is wrong
 * ends in a {@link PlanException}: a plan is used whole or not at all.
 */
public final class PlanReader {
    static final String FORMAT = "penstock/plan";
    static final int VERSION = 1;
    private static final int MOST_SLOTS = 10_000;
    private static final int DIGITS = 8;

    private PlanReader() {}

    /** The plan in the bytes of a file. */
    public static Plan read(byte[] bytes) throws PlanException {
        String text;
        try {
            text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException error) {
            throw new PlanException("is not UTF-8 text");
        }
        return read(Json.parse(text), idOf(bytes));
    }

    /** The plan in a value that was parsed elsewhere, as Storm's loaders do. */
    public static Plan read(Object value, String id) throws PlanException {
        Fields file = new Fields(value, "the file");
        String format = file.text("format");
        if (!FORMAT.equals(format)) {
            throw new PlanException("format is " + format + ", not " + FORMAT);
        }
        int version = file.whole("version", 1, Integer.MAX_VALUE);
        if (version != VERSION) {
            throw new PlanException("version " + version + " is not known; this plugin reads " + VERSION);
        }
        Part all = part(file);
        if (file.has("kept")) {
            for (Fields kept : file.list("kept")) {
                Part other = part(kept);
                other.topologies().forEach(all.topologies()::putIfAbsent);
                other.hosts().forEach(all.hosts()::putIfAbsent);
            }
        }
        return new Plan(id, all.topologies(), all.hosts());
    }

    /** What one planning said: the plan itself, or what is kept of an earlier one. */
    private record Part(Map<String, Plan.Topology> topologies, Map<String, String> hosts) {}

    private static Part part(Fields plan) throws PlanException {
        Fields inputs = plan.fields("inputs");
        Map<String, String> versions = versions(inputs);
        Map<String, String> submissions = submissions(plan);
        Map<String, Map<String, Plan.Contingency>> ifLost = contingencies(plan, versions);
        Map<String, Plan.Topology> topologies = new LinkedHashMap<>();
        for (Fields topology : plan.list("topologies")) {
            String name = topology.text("name");
            if (!versions.containsKey(name)) {
                throw new PlanException(topology.at("name") + ": " + name + " is not among the inputs");
            }
            Plan.Topology placed = new Plan.Topology(
                    name,
                    versions.get(name),
                    submissions.get(name),
                    components(topology),
                    ifLost.getOrDefault(name, Map.of()));
            if (topologies.put(name, placed) != null) {
                throw new PlanException(topology.at("name") + ": " + name + " is placed twice");
            }
        }
        return new Part(topologies, hosts(inputs.fields("cluster")));
    }

    static String idOf(byte[] bytes) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(bytes);
            return HexFormat.of().formatHex(hash).substring(0, DIGITS);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Names of the topologies the plan was made for, with the version each had. */
    private static Map<String, String> versions(Fields inputs) throws PlanException {
        Map<String, String> versions = new LinkedHashMap<>();
        for (Fields topology : inputs.list("topologies")) {
            versions.put(topology.text("name"), topology.textOrNull("topology_version"));
        }
        return versions;
    }

    /** Storm's id of each topology that ran when the plan was made, where the plan says so. */
    private static Map<String, String> submissions(Fields plan) throws PlanException {
        Map<String, String> submissions = new LinkedHashMap<>();
        if (!plan.has("deployed")) {
            return submissions;
        }
        for (Fields deployed : plan.list("deployed")) {
            String name = deployed.text("topology");
            if (submissions.put(name, deployed.text("id")) != null) {
                throw new PlanException(deployed.at("topology") + ": " + name + " is there twice");
            }
        }
        return submissions;
    }

    private static Map<String, String> hosts(Fields cluster) throws PlanException {
        Map<String, String> hosts = new LinkedHashMap<>();
        for (Fields group : cluster.list("machines")) {
            List<String> names = group.texts("names");
            List<String> called = group.texts("hosts");
            if (!called.isEmpty() && called.size() != names.size()) {
                throw new PlanException(group.at("hosts") + ": " + called.size() + " for " + names.size() + " machines");
            }
            for (int i = 0; i < called.size(); i++) {
                hosts.put(names.get(i), called.get(i));
            }
        }
        return hosts;
    }

    private static Map<String, List<Plan.Place>> components(Fields topology) throws PlanException {
        Map<String, List<Plan.Place>> components = new LinkedHashMap<>();
        Fields named = topology.fields("components");
        for (String component : named.names()) {
            List<Plan.Place> places = new ArrayList<>();
            for (Fields instance : named.list(component)) {
                places.add(place(instance));
            }
            checkShares(places, named.at(component));
            components.put(component, List.copyOf(places));
        }
        return components;
    }

    private static Plan.Place place(Fields instance) throws PlanException {
        return new Plan.Place(
                instance.text("machine"), instance.wholeOr("slot", 0, MOST_SLOTS, 0), instance.numberOrNull("share"));
    }

    private static void checkShares(List<Plan.Place> places, String at) throws PlanException {
        double sum = 0;
        int given = 0;
        for (Plan.Place place : places) {
            if (place.share() == null) {
                continue;
            }
            if (!(place.share() >= 0 && place.share() <= 1)) {
                throw new PlanException(at + ": share " + place.share() + " is not between 0 and 1");
            }
            given++;
            sum += place.share();
        }
        if (given > 0 && (given < places.size() || Math.abs(sum - 1) > 1e-6)) {
            throw new PlanException(at + ": the shares of " + given + " of " + places.size() + " add up to " + sum);
        }
    }

    /** By topology, then by machine. */
    private static Map<String, Map<String, Plan.Contingency>> contingencies(Fields plan, Map<String, String> topologies)
            throws PlanException {
        Map<String, Map<String, Plan.Contingency>> found = new LinkedHashMap<>();
        if (!plan.has("if_lost")) {
            return found;
        }
        for (Fields lost : plan.list("if_lost")) {
            String machine = lost.text("machine");
            for (Fields move : lost.list("moves")) {
                Label label = label(move, topologies);
                of(found, label, machine).moves().put(label.instance(move.whole("instance", 0, Integer.MAX_VALUE)), place(move));
            }
            if (lost.has("dropped")) {
                for (Fields dropped : lost.list("dropped")) {
                    Label label = label(dropped, topologies);
                    of(found, label, machine).dropped().add(label.instance(dropped.whole("instance", 0, Integer.MAX_VALUE)));
                }
            }
        }
        return found;
    }

    private static Plan.Contingency of(Map<String, Map<String, Plan.Contingency>> found, Label label, String machine) {
        return found.computeIfAbsent(label.topology, name -> new LinkedHashMap<>())
                .computeIfAbsent(machine, name -> new Plan.Contingency(new LinkedHashMap<>(), new ArrayList<>()));
    }

    private record Label(String topology, String component) {
        Plan.Instance instance(int index) {
            return new Plan.Instance(component, index);
        }
    }

    /** Contingencies call components {@code topology/component} where there are several topologies. */
    private static Label label(Fields entry, Map<String, String> topologies) throws PlanException {
        String text = entry.text("component");
        if (topologies.size() == 1) {
            return new Label(topologies.keySet().iterator().next(), text);
        }
        int slash = text.indexOf('/');
        if (slash < 0 || !topologies.containsKey(text.substring(0, slash))) {
            throw new PlanException(entry.at("component") + ": " + text + " names none of the topologies");
        }
        return new Label(text.substring(0, slash), text.substring(slash + 1));
    }
}
