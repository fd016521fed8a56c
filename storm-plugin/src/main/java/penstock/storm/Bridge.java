package penstock.storm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import net.minidev.json.JSONValue;
import org.apache.storm.generated.AuthorizationException;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.thrift.TException;
import org.apache.storm.thrift.transport.TTransportException;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.NimbusLeaderNotFoundException;
import org.apache.storm.utils.Utils;

/**
 * Answers questions about a Storm cluster in JSON lines, through Storm's own client: a user's storm.yaml and security
 * settings hold.
 *
 * <p>A request is {@code {"id": 7, "do": "cluster", …}} on a line of standard input, its answer
 * {@code {"id": 7, "ok": true, "result": …}} or {@code {"id": 7, "ok": false, "kind": …, "error": …}} on a line of
 * standard output. Everything else goes to standard error. It ends with its input.
 */
public final class Bridge {
    static final int VERSION = 1;

    private final Map<String, Object> conf;
    private NimbusClient client;

    Bridge(Map<String, Object> conf) {
        this.conf = conf;
    }

    /** The one argument, if any, is a JSON object of settings that go before storm.yaml's. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Map<String, Object> conf = Utils.readStormConfig();
        if (arguments.length > 0) {
            Fields given = new Fields(Json.parse(arguments[0]), "the settings");
            Map<?, ?> settings = (Map<?, ?>) Json.parse(arguments[0]);
            for (String name : given.names()) {
                conf.put(name, settings.get(name));
            }
        }
        Map<String, Object> ready = new LinkedHashMap<>();
        ready.put("ready", true);
        ready.put("version", VERSION);
        answers.println(Json.line(ready));
        answers.flush();
        new Bridge(conf).serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), answers);
        // Threads of Storm's clients would keep the process alive.
        System.exit(0);
    }

    void serve(BufferedReader requests, PrintStream answers) throws IOException {
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (!line.isBlank()) {
                answers.println(JSONValue.toJSONString(answer(line), net.minidev.json.JSONStyle.NO_COMPRESS));
                answers.flush();
            }
        }
    }

    Map<String, Object> answer(String line) {
        Map<String, Object> answer = new TreeMap<>();
        try {
            Fields request = new Fields(Json.parse(line), "the request");
            if (request.has("id")) {
                answer.put("id", request.whole("id", 0, Integer.MAX_VALUE));
            }
            answer.put("result", carryOut(request));
            answer.put("ok", true);
        } catch (Exception | LinkageError error) {
            answer.remove("result");
            answer.put("ok", false);
            answer.put("kind", kind(error));
            answer.put("error", message(error));
        }
        return answer;
    }

    private Object carryOut(Fields request) throws Exception {
        try {
            return ask(request);
        } catch (TTransportException lost) {
            // Nimbus was restarted, or another one leads now: one more try with a new connection.
            disconnect();
            if (request.text("do").equals("submit")) {
                throw lost;
            }
            return ask(request);
        }
    }

    private Object ask(Fields request) throws Exception {
        String wanted = request.text("do");
        Answers answers = new Answers(conf, this::nimbus);
        return switch (wanted) {
            case "cluster" -> answers.cluster();
            case "own-settings" -> answers.ownSettings();
            case "machines" -> answers.machines();
            case "topology" -> answers.topology(request.text("topology"));
            case "assignments" -> answers.assignments(request.text("topology"));
            case "statistics" -> answers.statistics(request.text("topology"));
            case "rebalance" -> Orders.rebalance(nimbus(), request);
            case "kill" -> Orders.kill(nimbus(), request);
            case "submit" -> Orders.submit(request);
            case "put-blob" -> Orders.putBlob(conf, request);
            default -> throw new PlanException("do: no request is called " + wanted);
        };
    }

    private org.apache.storm.generated.Nimbus.Iface nimbus() throws TException {
        if (client == null) {
            client = NimbusClient.getConfiguredClient(conf);
        }
        return client.getClient();
    }

    private void disconnect() {
        if (client != null) {
            client.close();
            client = null;
        }
    }

    private static String kind(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof PlanException) {
                return "bad-request";
            }
            if (cause instanceof NotAliveException) {
                return "no-such-topology";
            }
            if (cause instanceof AuthorizationException) {
                return "not-allowed";
            }
            if (cause instanceof TTransportException || cause instanceof NimbusLeaderNotFoundException || cause instanceof IOException) {
                return "not-reached";
            }
        }
        return "failed";
    }

    private static String message(Throwable error) {
        Throwable last = error;
        while (last.getCause() != null && last.getCause() != last) {
            last = last.getCause();
        }
        if (last instanceof NotAliveException gone) {
            return gone.get_msg();
        }
        if (last instanceof AuthorizationException refused) {
            return refused.get_msg();
        }
        return last.getMessage() == null ? last.toString() : last.getMessage();
    }
}
