package penstock.storm.lab;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.minidev.json.parser.JSONParser;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import penstock.storm.TelemetryReporter;
import penstock.storm.TrafficHook;
import penstock.storm.WeightedGrouping;

/**
 * Submits one of the topologies that plans are tried on.
 *
 * <p>Arguments: its shape (linear, diamond, star, wordcount, rollingcount), its name, and a JSON object: {@code
 * executors} and {@code tasks} by component, {@code weighted}, {@code traffic}, {@code telemetry} (a folder), and {@code
 * conf}, settings of the topology such as {@code penstock.lab.rate.file}. Components are named as in Penstock's examples,
 * and low, mid and high cost the CPU of its profile "lab".
 */
public final class LabTopology {
    static final double LOW_MS = 0.713;
    static final double MID_MS = 1.43;
    static final double HIGH_MS = 2.93;
    private static final int MOST_TASKS = 8;
    /**
     * How long an executor without work sleeps. Waking up costs it nothing while its machine is held back, so what a
     * machine uses anyway shrinks when it is full; the longer the sleep, the less of that there is.
     */
    private static final int WAITS_US = 5000;

    private final TopologyBuilder builder = new TopologyBuilder();
    private final Map<?, ?> options;

    private LabTopology(Map<?, ?> options) {
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 2) {
            throw new IllegalArgumentException("needs a shape and a name: linear my-linear {\"tasks\": {\"mid\": 8}}");
        }
        Object given = arguments.length > 2 ? new JSONParser(JSONParser.MODE_RFC4627).parse(arguments[2]) : Map.of();
        Map<?, ?> options = (Map<?, ?>) given;
        StormSubmitter.submitTopology(arguments[1], settings(options), topology(arguments[0], options));
    }

    /** The topology of a shape. */
    static StormTopology topology(String shape, Map<?, ?> options) {
        LabTopology lab = new LabTopology(options);
        switch (shape) {
            case "linear" -> lab.linear();
            case "diamond" -> lab.diamond();
            case "star" -> lab.star();
            case "wordcount" -> lab.wordCount();
            case "rollingcount" -> lab.rollingCount();
            default -> throw new IllegalArgumentException("no lab topology is called " + shape);
        }
        return lab.builder.createTopology();
    }

    private void linear() {
        spout("low", 1, LOW_MS);
        bolt("mid", new WorkBolt(MID_MS, false), "low");
        bolt("high", new WorkBolt(HIGH_MS, true), "mid");
    }

    private void diamond() {
        spout("source", 1, LOW_MS);
        bolt("mid", new WorkBolt(MID_MS, false), "source");
        bolt("high", new WorkBolt(HIGH_MS, false), "source");
        bolt("low", new WorkBolt(LOW_MS, false), "source");
        bolt("sink", new WorkBolt(LOW_MS, true), "mid", "high", "low");
    }

    private void star() {
        spout("source-1", 0.5, LOW_MS);
        spout("source-2", 0.5, LOW_MS);
        bolt("hub", new WorkBolt(HIGH_MS, false), "source-1", "source-2");
        bolt("sink-1", new WorkBolt(MID_MS, true), "hub");
        bolt("sink-2", new WorkBolt(MID_MS, true), "hub");
    }

    private void wordCount() {
        spout("spout", 1, 0);
        bolt("split", new SplitBolt(), "spout");
        byValue("count", new CountBolt(), "split");
    }

    private void rollingCount() {
        spout("spout", 1, 0);
        bolt("split", new SplitBolt(), "spout");
        byValue("rolling-count", new CountBolt(9, 1_000_000_000L), "split");
    }

    private int of(String option, String component, int absent) {
        return options.get(option) instanceof Map<?, ?> map && map.get(component) instanceof Number number
                ? number.intValue()
                : absent;
    }

    private void spout(String name, double part, double cpuMs) {
        int executors = of("executors", name, 1);
        builder.setSpout(name, new RateSpout(part, cpuMs), executors).setNumTasks(of("tasks", name, Math.max(MOST_TASKS, executors)));
    }

    private BoltDeclarer declared(String name, IRichBolt bolt) {
        int executors = of("executors", name, 1);
        BoltDeclarer declarer = builder.setBolt(name, bolt, executors);
        declarer.setNumTasks(of("tasks", name, Math.max(MOST_TASKS, executors)));
        return declarer;
    }

    private void bolt(String name, IRichBolt bolt, String... sources) {
        BoltDeclarer declarer = declared(name, bolt);
        for (String source : sources) {
            if (Boolean.TRUE.equals(options.get("weighted"))) {
                declarer.customGrouping(source, new WeightedGrouping());
            } else {
                declarer.shuffleGrouping(source);
            }
        }
    }

    private void byValue(String name, IRichBolt bolt, String source) {
        declared(name, bolt).fieldsGrouping(source, new Fields("value"));
    }

    /** Executors that wait park: with Storm's default they spin, and CPU is no straight line of the rate. */
    static Map<String, Object> settings(Map<?, ?> options) {
        Map<String, Object> conf = new HashMap<>();
        String park = "org.apache.storm.policy.WaitStrategyPark";
        conf.put(Config.TOPOLOGY_BOLT_WAIT_STRATEGY, park);
        conf.put(Config.TOPOLOGY_SPOUT_WAIT_STRATEGY, park);
        conf.put(Config.TOPOLOGY_BOLT_WAIT_PARK_MICROSEC, WAITS_US);
        conf.put(Config.TOPOLOGY_SPOUT_WAIT_PARK_MICROSEC, WAITS_US);
        conf.put(Config.TOPOLOGY_STATS_SAMPLE_RATE, 1.0);
        conf.put(Config.TOPOLOGY_MAX_SPOUT_PENDING, 50);
        conf.put(Config.TOPOLOGY_WORKER_CHILDOPTS, "-Xmx256m");
        if (options.get("telemetry") != null) {
            Map<String, Object> reporter = new LinkedHashMap<>();
            reporter.put("class", TelemetryReporter.class.getName());
            reporter.put(TelemetryReporter.FOLDER, options.get("telemetry").toString());
            List<Object> reporters = new ArrayList<>(List.of(reporter));
            conf.put(Config.TOPOLOGY_METRICS_REPORTERS, reporters);
        }
        if (Boolean.TRUE.equals(options.get("traffic"))) {
            conf.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, List.of(TrafficHook.class.getName()));
        }
        if (options.get("conf") instanceof Map<?, ?> given) {
            given.forEach((name, value) -> conf.put(name.toString(), value));
        }
        return conf;
    }
}
