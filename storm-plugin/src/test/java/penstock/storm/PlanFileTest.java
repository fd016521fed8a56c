package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever lies where the plan should be: Nimbus goes on. */
class PlanFileTest {
    @TempDir
    Path folder;

    private Path path() {
        return folder.resolve("plan.json");
    }

    @Test
    void aFileOverTheLimitIsNotReadAndTheLastGoodPlanHolds() throws Exception {
        String text = Simulated.text("two.json");
        PlanFile file = new PlanFile(path(), text.length());
        Files.writeString(path(), text);
        PlanFile.Known known = file.look();
        assertEquals("", known.trouble());
        Files.writeString(path(), text + " ");
        assertEquals(known.plan(), file.look().plan());
        assertTrue(file.look().trouble().contains("is larger than"), file.look().trouble());
        assertTrue(file.look().trouble().contains("penstock.plan.file.mb"), file.look().trouble());
        Files.writeString(path(), text);
        assertEquals("", file.look().trouble());
    }

    @Test
    void aFileLargerThanTheMemoryIsNotRead() throws Exception {
        try (RandomAccessFile sparse = new RandomAccessFile(path().toFile(), "rw")) {
            sparse.setLength(1L << 40);
        }
        PlanFile.Known known = new PlanFile(path(), PlanFile.mostBytes(Map.of())).look();
        assertNull(known.plan());
        assertEquals("the plan is broken: is larger than 64.0 MB, the limit that penstock.plan.file.mb sets", known.trouble());
    }

    @ParameterizedTest
    @ValueSource(strings = {"/dev/zero", "."})
    void whatIsNoFileIsNotRead(String other) {
        PlanFile.Known known = assertTimeoutPreemptively(
                Duration.ofSeconds(20), () -> new PlanFile(Path.of(other), 1 << 20).look());
        assertEquals("the plan is broken: is no plain file", known.trouble());
    }

    @ParameterizedTest
    @CsvSource({"2, 2097152", "0.5, 524288", "0, 67108864", "-1, 67108864", "1e30, 67108864"})
    void theLimitIsASetting(double megabytes, int bytes) {
        assertEquals(bytes, PlanFile.mostBytes(Map.of("penstock.plan.file.mb", megabytes)));
    }

    @Test
    void aLimitThatIsNoNumberIsTheDefault() {
        assertEquals(64 << 20, PlanFile.mostBytes(Map.of("penstock.plan.file.mb", "many")));
    }

    /** A topology names the blob: it may be another topology's jar. */
    @Test
    void onlyABlobThatHoldsAPlanOrNothingIsReplaced() {
        for (String ours : new String[] {"", " \n", "{}", Simulated.text("two.json")}) {
            assertTrue(Orders.holdsPlanOrNothing(ours.getBytes(StandardCharsets.UTF_8)), ours);
        }
        for (String other : new String[] {"PK\u0003\u0004", "{\"format\": \"penstock/cluster\"}", "[]", "{\"a\": 1}"}) {
            assertFalse(Orders.holdsPlanOrNothing(other.getBytes(StandardCharsets.UTF_8)), other);
        }
    }
}
