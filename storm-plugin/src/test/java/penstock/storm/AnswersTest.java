package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.ExecutorInfo;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.SupervisorPageInfo;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.generated.WorkerSummary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked of Nimbus, and what becomes of its answers; Nimbus is a stand-in. */
class AnswersTest {
    private static final String RUN = "linear-1-100";

    private final ClusterSummary cluster = new ClusterSummary();
    private final TopologyInfo topology = new TopologyInfo();
    private final Map<String, SupervisorPageInfo> pages = new HashMap<>();
    private final List<String> askedPages = new ArrayList<>();
    private final Map<String, Object> nimbusConf = new HashMap<>();
    private final Map<String, Object> conf = new HashMap<>();

    private Answers answers() {
        Nimbus.Iface nimbus = (Nimbus.Iface) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Nimbus.Iface.class}, (proxy, method, arguments) ->
                        switch (method.getName()) {
                            case "getClusterInfo" -> cluster;
                            case "getTopologyInfoWithOpts" -> topology;
                            case "getNimbusConf" -> Json.line(nimbusConf);
                            case "getSupervisorPageInfo" -> {
                                askedPages.add(arguments[0].toString());
                                yield pages.getOrDefault(arguments[0], new SupervisorPageInfo());
                            }
                            default -> throw new UnsupportedOperationException(method.getName());
                        });
        return new Answers(conf, () -> nimbus);
    }

    private void supervisor(String id, String host) {
        SupervisorSummary supervisor = new SupervisorSummary();
        supervisor.set_supervisor_id(id);
        supervisor.set_host(host);
        cluster.add_to_supervisors(supervisor);
    }

    private void executor(int task, String host, int port) {
        ExecutorSummary executor = new ExecutorSummary();
        executor.set_executor_info(new ExecutorInfo(task, task));
        executor.set_component_id("mid");
        executor.set_host(host);
        executor.set_port(port);
        topology.add_to_executors(executor);
    }

    private void worker(String supervisor, String host, int port, String run) {
        WorkerSummary worker = new WorkerSummary();
        worker.set_supervisor_id(supervisor);
        worker.set_host(host);
        worker.set_port(port);
        worker.set_topology_id(run);
        pages.computeIfAbsent(supervisor, id -> new SupervisorPageInfo()).add_to_worker_summaries(worker);
    }

    private List<Object> supervisorsOfExecutors() throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object executor : (List<?>) answers().assignments(RUN).get("executors")) {
            found.add(((Map<?, ?>) executor).get("supervisor"));
        }
        return found;
    }

    @Test
    void whereEverySupervisorHasAHostOfItsOwnNoneIsAsked() throws Exception {
        for (int i = 0; i < 1000; i++) {
            supervisor("id-" + i, "host-" + i);
        }
        executor(1, "host-7", 6700);
        executor(2, "host-999", 6701);
        assertEquals(List.of("id-7", "id-999"), supervisorsOfExecutors());
        assertEquals(List.of(), askedPages);
    }

    @Test
    void onlySupervisorsThatShareAHostAreAsked() throws Exception {
        supervisor("alone", "host-1");
        supervisor("left", "host-2");
        supervisor("right", "host-2");
        worker("left", "host-2", 6700, RUN);
        worker("right", "host-2", 6710, RUN);
        worker("right", "host-2", 6711, "other-1-1");
        executor(1, "host-1", 6700);
        executor(2, "host-2", 6710);
        executor(3, "host-2", 6700);
        assertEquals(List.of("alone", "right", "left"), supervisorsOfExecutors());
        assertEquals(List.of("left", "right"), askedPages);
    }

    @Test
    void aHostThatNobodyKnowsHasNoSupervisor() throws Exception {
        supervisor("alone", "host-1");
        executor(1, "gone", 6700);
        assertNull(supervisorsOfExecutors().get(0));
        assertEquals(List.of(), askedPages);
    }

    private void zooKeeper(Map<String, Object> settings, String root, Object... servers) {
        settings.put("storm.zookeeper.servers", List.of(servers));
        settings.put("storm.zookeeper.port", 2181);
        settings.put("storm.zookeeper.root", root);
    }

    @Test
    void zooKeeperIsWhereTheUsersSettingsHaveIt() throws Exception {
        zooKeeper(conf, "/storm", "localhost");
        zooKeeper(nimbusConf, "/other", "zk-1");
        assertEquals(new ZooKeeper(List.of("localhost"), 2181, "/storm"), answers().zooKeeper());
    }

    @Test
    void zooKeeperIsWhereNimbusHasItIfThatIsWanted() throws Exception {
        zooKeeper(conf, "/storm", "localhost");
        zooKeeper(nimbusConf, "/other", "zk-1", "zk-2");
        conf.put(ZooKeeper.FROM_NIMBUS, true);
        conf.put("nimbus.seeds", List.of("nimbus-1", "nimbus-2"));
        assertEquals(new ZooKeeper(List.of("zk-1", "zk-2"), 2181, "/other"), answers().zooKeeper());
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"})
    void whatNimbusCallsLocalhostIsWhereNimbusRuns(String local) throws Exception {
        zooKeeper(nimbusConf, "/storm", local, "zk-2");
        conf.put(ZooKeeper.FROM_NIMBUS, true);
        conf.put("nimbus.seeds", List.of("nimbus-1", "nimbus-2"));
        assertEquals(List.of("nimbus-1", "zk-2"), answers().zooKeeper().servers());
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost-3", "10.127.0.1", "127.example.com", "zk", "::12"})
    void otherNamesStayAsTheyAre(String name) throws Exception {
        zooKeeper(nimbusConf, "/storm", name);
        conf.put(ZooKeeper.FROM_NIMBUS, true);
        conf.put("nimbus.seeds", List.of("nimbus-1"));
        assertEquals(List.of(name), answers().zooKeeper().servers());
    }

    @Test
    void aNimbusThatDoesNotSayWhereItsZooKeeperIsIsNotGuessedFor() {
        conf.put(ZooKeeper.FROM_NIMBUS, true);
        PlanException refused = assertThrows(PlanException.class, () -> answers().zooKeeper());
        assertTrue(refused.getMessage().contains("storm.zookeeper.servers"), refused.getMessage());
    }
}
