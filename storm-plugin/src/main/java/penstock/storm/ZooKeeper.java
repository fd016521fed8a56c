package penstock.storm;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.storm.callback.DefaultWatcherCallBack;
import org.apache.storm.cluster.ClusterUtils;
import org.apache.storm.cluster.DaemonType;
import org.apache.storm.generated.SupervisorInfo;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.zookeeper.ClientZookeeper;

/**
 * Where Storm's ZooKeeper is, and what the supervisors wrote there.
 *
 * <p>It is only read. Storm's own cluster state would create Storm's folders wherever it is pointed at.
 */
record ZooKeeper(List<String> servers, Object port, String root) {
    /** Set where a user named Nimbus alone: it knows its ZooKeeper, and a guess may find another. */
    static final String FROM_NIMBUS = "penstock.zookeeper.from.nimbus";

    private static final String SERVERS = "storm.zookeeper.servers";
    private static final String PORT = "storm.zookeeper.port";
    private static final String ROOT = "storm.zookeeper.root";
    private static final Pattern LOOPBACK =
            Pattern.compile("localhost|127\\.[0-9.]+|\\[?::1]?", Pattern.CASE_INSENSITIVE);

    /** As a client's own settings have it. */
    static ZooKeeper of(Map<?, ?> conf) throws PlanException {
        List<String> servers = new Fields(conf, "the settings").texts(SERVERS);
        if (servers.isEmpty() || conf.get(PORT) == null || conf.get(ROOT) == null) {
            String needed = String.join(", ", SERVERS, PORT, ROOT);
            throw new PlanException("the settings do not say where ZooKeeper is: " + needed);
        }
        return new ZooKeeper(servers, conf.get(PORT), conf.get(ROOT).toString());
    }

    /** The same seen from another machine: what Nimbus calls localhost is where Nimbus runs. */
    ZooKeeper seenFrom(String nimbus) {
        List<String> reached = servers.stream()
                .map(server -> LOOPBACK.matcher(server).matches() ? nimbus : server)
                .distinct()
                .toList();
        return new ZooKeeper(reached, port, root);
    }

    /** Supervisors that live, by id; {@code conf} says how to connect and as whom. */
    Map<String, SupervisorInfo> supervisors(Map<String, Object> conf) throws IOException {
        String folder = (root.equals("/") ? "" : root) + ClusterUtils.SUPERVISORS_SUBTREE;
        // Storm would take a root for the client as well, but then a root that is absent has no name in the error.
        CuratorFramework client = ClientZookeeper.mkClient(
                conf, servers, port, "", new DefaultWatcherCallBack(), conf, DaemonType.UNKNOWN);
        try {
            if (!ClientZookeeper.existsNode(client, folder, false)) {
                throw new IOException("there is no " + folder + " in ZooKeeper on " + String.join(", ", servers));
            }
            Map<String, SupervisorInfo> found = new TreeMap<>();
            for (String id : ClientZookeeper.getChildren(client, folder, false)) {
                byte[] said = ClientZookeeper.getData(client, folder + "/" + id, false);
                SupervisorInfo info = ClusterUtils.maybeDeserialize(said, SupervisorInfo.class);
                // One that ends between the two questions has said nothing.
                if (info != null) {
                    found.put(id, info);
                }
            }
            return found;
        } finally {
            client.close();
        }
    }
}
