package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

/** The bridge without a Nimbus: what it answers to requests that cannot be carried out. */
class BridgeTest {
    private static Map<String, Object> nowhere() {
        Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
        conf.put("nimbus.seeds", List.of("127.0.0.1"));
        conf.put("nimbus.thrift.port", 1);
        conf.put("storm.nimbus.retry.times", 0);
        return conf;
    }

    private static List<Map<?, ?>> answers(String... requests) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BufferedReader in = new BufferedReader(new StringReader(String.join("\n", requests)));
        new Bridge(nowhere()).serve(in, new PrintStream(out, false, StandardCharsets.UTF_8));
        List<Map<?, ?>> parsed = new java.util.ArrayList<>();
        for (String line : out.toString(StandardCharsets.UTF_8).lines().toList()) {
            parsed.add((Map<?, ?>) Json.parse(line));
        }
        return parsed;
    }

    @Test
    void everyRequestIsAnsweredAndNoneEndsIt() throws Exception {
        List<Map<?, ?>> found = answers(
                "no JSON", "{\"id\": 2}", "{\"id\": 3, \"do\": \"dance\"}", "", "{\"id\": 5, \"do\": \"topology\"}",
                "{\"id\": 6, \"do\": \"submit\", \"jar\": \"/none.jar\", \"main\": \"x\"}");
        assertEquals(5, found.size());
        for (Map<?, ?> answer : found) {
            assertEquals(false, answer.get("ok"));
            assertEquals("bad-request", answer.get("kind"));
        }
        assertEquals(3, found.get(2).get("id"));
        assertTrue(found.get(2).get("error").toString().contains("dance"));
        assertTrue(found.get(3).get("error").toString().contains("topology must be text"), found.get(3).toString());
    }

    @Test
    void aNimbusThatIsNotThereIsSaidSo() throws Exception {
        Map<?, ?> answer = answers("{\"id\": 1, \"do\": \"cluster\"}").get(0);
        assertEquals("not-reached", answer.get("kind"), answer.toString());
    }
}
