package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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
    @ValueSource(strings = {"linear", "weighted", "two"})
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
}
