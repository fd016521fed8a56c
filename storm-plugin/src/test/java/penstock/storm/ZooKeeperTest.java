package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.callback.DefaultWatcherCallBack;
import org.apache.storm.cluster.DaemonType;
import org.apache.storm.generated.SupervisorInfo;
import org.apache.storm.shade.org.apache.curator.framework.CuratorFramework;
import org.apache.storm.shade.org.apache.zookeeper.ZooDefs;
import org.apache.storm.shade.org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.storm.utils.Utils;
import org.apache.storm.zookeeper.ClientZookeeper;
import org.apache.storm.zookeeper.Zookeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A ZooKeeper inside this process, without Storm: what is read from it, and that nothing is left in it. */
class ZooKeeperTest {
    private static final String LOCAL = "127.0.0.1";

    @TempDir
    Path folder;

    private final Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
    private NIOServerCnxnFactory server;
    private CuratorFramework writer;

    @BeforeEach
    void start() throws Exception {
        server = Zookeeper.mkInprocessZookeeper(folder.toString(), null);
        conf.put("storm.zookeeper.servers", List.of(LOCAL));
        conf.put("storm.zookeeper.port", server.getLocalPort());
        Object port = server.getLocalPort();
        writer = ClientZookeeper.mkClient(
                conf, List.of(LOCAL), port, "", new DefaultWatcherCallBack(), conf, DaemonType.UNKNOWN);
    }

    @AfterEach
    void stop() {
        writer.close();
        Zookeeper.shutdownInprocessZookeeper(server);
    }

    private void write(String path, byte[] data) {
        ClientZookeeper.mkdirs(writer, path, ZooDefs.Ids.OPEN_ACL_UNSAFE);
        ClientZookeeper.setData(writer, path, data);
    }

    @Test
    void supervisorsAreReadWithTheirMetadata() throws Exception {
        SupervisorInfo large = new SupervisorInfo();
        large.set_time_secs(1);
        large.set_hostname("127.0.0.11");
        large.set_scheduler_meta(Map.of("machine", "large-1", "machine-type", "large"));
        SupervisorInfo plain = new SupervisorInfo();
        plain.set_time_secs(1);
        plain.set_hostname("127.0.0.12");
        write("/storm/supervisors/id-a", Utils.serialize(large));
        write("/storm/supervisors/id-b", Utils.serialize(plain));
        assertEquals(
                Map.of(
                        "id-a", Map.of("host", "127.0.0.11", "meta", large.get_scheduler_meta()),
                        "id-b", Map.of("host", "127.0.0.12", "meta", Map.of())),
                new Answers(conf, () -> null).machines());
        assertEquals(List.of("supervisors"), ClientZookeeper.getChildren(writer, "/storm", false));
    }

    @Test
    void aZooKeeperThatIsNotStormsIsToldSoAndStaysAsItWas() {
        write("/somebody", "else".getBytes(StandardCharsets.UTF_8));
        Set<String> before = Set.copyOf(ClientZookeeper.getChildren(writer, "/", false));
        IOException refused = assertThrows(IOException.class, () -> new Answers(conf, () -> null).machines());
        String message = refused.getMessage();
        assertTrue(message.startsWith("there is no /storm/supervisors in ZooKeeper"), message);
        assertEquals(before, Set.copyOf(ClientZookeeper.getChildren(writer, "/", false)));
    }
}
