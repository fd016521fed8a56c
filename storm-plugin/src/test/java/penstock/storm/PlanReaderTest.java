package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlanReaderTest {
    private static Plan read(String text) throws PlanException {
        return PlanReader.read(text.getBytes(StandardCharsets.UTF_8));
    }

    /** What Python wrote is read as Python reads it: its suite holds the same files against the same expectation. */
    @ParameterizedTest
    @ValueSource(strings = {"linear", "weighted", "two", "kept"})
    void readsWhatPythonWrites(String name) throws Exception {
        Plan plan = read(Simulated.text(name + ".json"));
        Map<?, ?> expected = (Map<?, ?>) Json.parse(Simulated.text(name + ".expected.json"));
        assertEquals(expected.get("hosts"), plan.hosts());
        assertEquals(((Map<?, ?>) expected.get("topologies")).keySet(), plan.topologies().keySet());
        plan.topologies().forEach((topology, placed) -> {
            Map<?, ?> components = (Map<?, ?>) ((Map<?, ?>) expected.get("topologies")).get(topology);
            assertEquals(components.keySet(), placed.components().keySet());
            placed.components().forEach((component, places) -> assertEquals(
                    components.get(component),
                    places.stream().map(p -> Arrays.<Object>asList(p.machine(), p.slot(), p.share())).toList()));
            assertEquals(((Map<?, ?>) expected.get("versions")).get(topology), placed.version());
        });
        ((Map<?, ?>) expected.get("if_lost")).forEach((machine, lost) -> {
            for (Object move : (List<?>) ((Map<?, ?>) lost).get("moves")) {
                List<?> fields = (List<?>) move;
                String label = fields.get(0).toString();
                String topology = label.contains("/") ? label.substring(0, label.indexOf('/')) : "linear";
                String component = label.substring(label.indexOf('/') + 1);
                Plan.Place place = plan.topologies().get(topology).ifLost().get(machine).moves()
                        .get(new Plan.Instance(component, (Integer) fields.get(1)));
                assertEquals(fields.subList(2, 4), List.of(place.machine(), place.slot()));
            }
        });
    }

    @Test
    void aFileCutAnywhereIsRefused() {
        byte[] whole = Simulated.text("two.json").getBytes(StandardCharsets.UTF_8);
        // The last byte is the line's end; without it the plan is whole.
        for (int length = 0; length < whole.length - 1; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(PlanException.class, () -> PlanReader.read(cut), "cut at " + length);
        }
    }

    @Test
    void aByteThatChangedIsReadOrRefusedAndNothingElse() {
        byte[] whole = Simulated.text("linear.json").getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < whole.length; at++) {
            for (byte other : new byte[] {0, '"', '{', ']', '9', '-', (byte) 0xff}) {
                byte[] changed = whole.clone();
                changed[at] = other;
                try {
                    PlanReader.read(changed);
                } catch (PlanException refused) {
                    assertTrue(refused.getMessage().length() < 500);
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"format\": \"penstock/plan\" | \"format\": \"penstock/topology\" | not penstock/plan",
                "\"version\": 1, | \"version\": 2, | version 2 is not known",
                "\"slot\": 0 | \"slot\": -1 | slot must be a whole number",
                "\"slot\": 0 | \"slot\": 0.5 | slot must be a whole number",
                "\"machine\": \"large\", \"slot\" | \"machine\": 7, \"slot\" | machine must be text",
                "\"share\": 1.0 | \"share\": 0.5 | add up to 0.5",
                "\"share\": 1.0 | \"share\": -1 | not between 0 and 1",
                "\"share\": 1.0 | \"share\": \"x\" | share must be a number",
            })
    void saysWhatIsWrong(String old, String changed, String message) {
        String text = Simulated.text("weighted.json").replaceFirst("\n", " ");
        assertTrue(text.contains(old), old);
        String broken = text.replaceFirst(java.util.regex.Pattern.quote(old), changed);
        PlanException refused = assertThrows(PlanException.class, () -> read(broken));
        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> parsed(String fixture) throws PlanException {
        return (Map<String, Object>) Json.parse(Simulated.text(fixture));
    }

    /** What {@code penstock apply} keeps of a plan: some of its topologies, all of its inputs' names. */
    private static Map<String, Object> kept(String fixture, String... topologies) throws PlanException {
        Map<String, Object> plan = parsed(fixture);
        List<?> all = (List<?>) plan.get("topologies");
        List<?> some = all.stream().filter(t -> List.of(topologies).contains(((Map<?, ?>) t).get("name"))).toList();
        Map<String, Object> kept = new LinkedHashMap<>();
        kept.put("topologies", some);
        kept.put("if_lost", plan.get("if_lost"));
        kept.put("inputs", plan.get("inputs"));
        return kept;
    }

    private static Plan with(String fixture, Map<?, ?>... kept) throws PlanException {
        Map<String, Object> plan = parsed(fixture);
        plan.put("kept", List.of(kept));
        return read(Json.line(plan));
    }

    @Test
    void plansOfOtherTopologiesAreKept() throws Exception {
        Plan own = read(Simulated.text("linear.json"));
        Plan two = read(Simulated.text("two.json"));
        Plan plan = with("linear.json", kept("two.json", "star"));
        assertEquals(List.of("linear", "star"), List.copyOf(plan.topologies().keySet()));
        assertEquals(own.topologies().get("linear"), plan.topologies().get("linear"));
        // Its contingencies too: there they are called star/hub, because that plan was made for two topologies.
        assertEquals(two.topologies().get("star"), plan.topologies().get("star"));
        assertEquals(
                new Plan.Place("spare", 0, null),
                plan.topologies().get("star").ifLost().get("large").moves().get(new Plan.Instance("hub", 0)));
    }

    @Test
    void thePlansOwnWordGoesBeforeWhatIsKeptAndTheFirstThatIsKeptBeforeTheSecond() throws Exception {
        Plan linear = read(Simulated.text("linear.json"));
        Plan two = read(Simulated.text("two.json"));
        Plan own = with("linear.json", kept("two.json", "linear", "star"));
        assertEquals(linear.topologies().get("linear"), own.topologies().get("linear"));
        Map<String, Object> renamed = parsed("linear.json");
        renamed.put("topologies", List.of());
        renamed.put("if_lost", List.of());
        renamed.put("kept", List.of(kept("two.json", "linear"), kept("weighted.json", "linear")));
        Plan first = read(Json.line(renamed));
        assertEquals(two.topologies().get("linear"), first.topologies().get("linear"));
    }

    @Test
    void hostsAreThoseOfAllPartsAndThePlansOwnFirst() throws Exception {
        Map<String, Object> kept = kept("two.json", "star");
        kept.put("inputs", Map.of(
                "topologies", List.of(Map.of("name", "linear"), Map.of("name", "star")),
                "cluster", Map.of("machines", List.of(
                        Map.of("names", List.of("large", "gone"), "hosts", List.of("10.0.0.1", "10.0.0.2"))))));
        Map<String, String> hosts = with("linear.json", kept).hosts();
        assertEquals("127.0.0.11", hosts.get("large"));
        assertEquals("10.0.0.2", hosts.get("gone"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "topologies | kept[0].topologies must be a list",
                "inputs | kept[0].inputs must be an object",
            })
    void aKeptPartThatIsBrokenIsRefusedLikeAnyPlan(String without, String message) throws Exception {
        Map<String, Object> kept = kept("two.json", "star");
        kept.remove(without);
        PlanException refused = assertThrows(PlanException.class, () -> with("linear.json", kept));
        assertTrue(refused.getMessage().contains(message), refused.getMessage());
        Map<String, Object> plan = parsed("linear.json");
        plan.put("kept", "star");
        assertThrows(PlanException.class, () -> read(Json.line(plan)));
    }

    @Test
    void labelsOfAKeptPartFollowItsOwnInputs() throws Exception {
        Map<String, Object> kept = kept("two.json", "star");
        // With one topology among the inputs, star/hub would be a component of it; with none of that name, an error.
        kept.put("inputs", Map.of(
                "topologies", List.of(Map.of("name", "star"), Map.of("name", "other")),
                "cluster", Map.of("machines", List.of())));
        PlanException refused = assertThrows(PlanException.class, () -> with("linear.json", kept));
        assertTrue(refused.getMessage().contains("linear/low names none of the topologies"), refused.getMessage());
    }

    @Test
    void theSubmissionThatAPlanWasMadeFromIsRead() throws Exception {
        assertNull(read(Simulated.text("linear.json")).topologies().get("linear").submission());
        Map<String, Object> kept = kept("two.json", "star");
        kept.put("deployed", List.of(Map.of("topology", "star", "id", "star-7-1", "components", Map.of())));
        Map<String, Object> plan = parsed("linear.json");
        plan.put("deployed", List.of(
                Map.of("topology", "star", "id", "star-8-2", "components", Map.of()),
                Map.of("topology", "linear", "id", "linear-1-100", "components", Map.of())));
        plan.put("kept", List.of(kept));
        Plan read = read(Json.line(plan));
        assertEquals("linear-1-100", read.topologies().get("linear").submission());
        // A part's submissions are its own: the plan did not place star.
        assertEquals("star-7-1", read.topologies().get("star").submission());
    }
}
