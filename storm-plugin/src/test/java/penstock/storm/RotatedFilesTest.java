package penstock.storm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RotatedFilesTest {
    private static final FileName OURS = FileName.first("run", "host", "6700", 7);
    private static final long MINUTE_MS = 60_000;

    @TempDir
    Path folder;

    private final long nowMs = System.currentTimeMillis();

    private RotatedFiles files(long mostBytes, int mostFiles, long longestMs) {
        return new RotatedFiles(folder, OURS, mostBytes, mostFiles, longestMs);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> seen = Files.list(folder)) {
            return seen.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    /** A file that was last written some minutes ago, to the millisecond. */
    private Path leave(String name, String text, int minutes) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        Files.setLastModifiedTime(file, FileTime.fromMillis(nowMs - minutes * MINUTE_MS));
        return file;
    }

    @Test
    void aNameSaysWhoseFileItIs() {
        FileName name = FileName.first("a@b-1-2", "höst:x", "6700", 7).numbered(1_234_567);
        assertEquals("a_b-1-2@h_st_x@6700@7-1234567.jsonl", name.whole());
        assertEquals("." + name.whole() + ".part", name.part());
        assertEquals(name, FileName.parse(name.whole()));
        assertEquals(name, FileName.parse(name.part()));
        assertTrue(FileName.isPart(name.part()));
        assertFalse(FileName.isPart(name.whole()));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "run-host-6700-7-000001.jsonl", "run@host@6700@7-000001.jsonl.gz", "run@host@6700@7-1.jsonl",
        "host@6700@7-000001.jsonl",
        "x@run@host@6700@7-000001.jsonl", "run@host@6700@7-9999999999999999999.jsonl", "", ".", ".part",
    })
    void otherFilesAreNotOurs(String name) {
        assertNull(FileName.parse(name));
    }

    @Test
    void filesAreRenamedWhenWholeAndTheOldestGo() throws Exception {
        try (RotatedFiles files = files(10, 3, 1_000_000)) {
            for (int i = 0; i < 6; i++) {
                files.write(List.of("line " + i, "more"));
            }
            files.write(List.of("x"));
            // Six files of more than 10 bytes were ended, three are kept, the seventh is being written.
            assertEquals(
                    List.of(
                            ".run@host@6700@7-000006.jsonl.part", "run@host@6700@7-000003.jsonl",
                            "run@host@6700@7-000004.jsonl", "run@host@6700@7-000005.jsonl"),
                    names());
        }
        assertEquals(
                List.of("run@host@6700@7-000004.jsonl", "run@host@6700@7-000005.jsonl", "run@host@6700@7-000006.jsonl"),
                names());
        assertEquals("line 5\nmore\n", Files.readString(folder.resolve("run@host@6700@7-000005.jsonl")));
    }

    @Test
    void smallFilesStayWhileAllTogetherAreWithinTheBounds() throws Exception {
        // Every file ends at once, because it is old enough; three of 1,000 bytes may be kept.
        try (RotatedFiles files = files(1000, 3, 0)) {
            for (int i = 0; i < 20; i++) {
                files.write(List.of("x".repeat(99)));
            }
            assertEquals(20, names().size());
            for (int i = 0; i < 20; i++) {
                files.write(List.of("x".repeat(99)));
            }
            // Of 40 files of 100 bytes, 3,000 bytes are kept: the last 30.
            assertEquals(30, names().size());
            assertEquals("run@host@6700@7-000010.jsonl", names().get(0));
        }
    }

    @Test
    void aWorkerThatIsRestartedAgainAndAgainStaysWithinTheBounds() throws Exception {
        for (int pid = 1; pid <= 20; pid++) {
            FileName first = FileName.first("run-" + pid % 2, "host", "6700", pid);
            try (RotatedFiles files = new RotatedFiles(folder, first, 100, 3, 0)) {
                for (int i = 0; i < 5; i++) {
                    files.write(List.of("x".repeat(99)));
                }
            }
            // Whoever wrote them, in whatever run: three files of 100 bytes.
            assertTrue(names().size() <= 3, names().toString());
            assertTrue(names().contains(first.numbered(4).whole()), names().toString());
        }
    }

    @Test
    void theOldestGoFirstWhateverTheirNames() throws Exception {
        leave("a@host@6700@1-000000.jsonl", "x".repeat(100), 1);
        leave("z@host@6700@1-000000.jsonl", "x".repeat(100), 3);
        leave("m@host@6700@2-000001.jsonl", "x".repeat(100), 2);
        leave("m@host@6700@1-000001.jsonl", "x".repeat(100), 2);
        try (RotatedFiles files = files(100, 3, 0)) {
            files.write(List.of("x".repeat(99)));
        }
        assertEquals(
                List.of("a@host@6700@1-000000.jsonl", "m@host@6700@2-000001.jsonl", "run@host@6700@7-000000.jsonl"),
                names());
    }

    @Test
    void atMostADayOfSmallFilesIsKept() throws Exception {
        for (int i = 0; i < 1500; i++) {
            leave(FileName.first("old", "host", "6700", 1).numbered(i).whole(), "x", 2000 - i);
        }
        try (RotatedFiles files = files(1_000_000, 8, 0)) {
            files.write(List.of("x"));
        }
        assertEquals(1440, names().size());
        // 1,501 were there: the oldest 61 are gone.
        assertEquals("old@host@6700@1-000061.jsonl", names().get(0));
    }

    @Test
    void aFileOfAKilledWorkerIsTakenOverWhenTheNextOneBegins() throws Exception {
        leave(".run@host@6700@1-000004.jsonl.part", "a line\nhalf a l", 11);
        leave(".run@host@6700@2-000000.jsonl.part", "young", 9);
        try (RotatedFiles files = files(1000, 3, MINUTE_MS)) {
            files.write(List.of("x"));
            assertEquals(
                    List.of(
                            ".run@host@6700@2-000000.jsonl.part", ".run@host@6700@7-000000.jsonl.part",
                            "run@host@6700@1-000004.jsonl"),
                    names());
        }
        assertEquals("a line\nhalf a l", Files.readString(folder.resolve("run@host@6700@1-000004.jsonl")));
    }

    @Test
    void aFileThatIsAbandonedLaterIsTakenOverAfterTheNextFile() throws Exception {
        try (RotatedFiles files = files(1000, 3, 0)) {
            files.write(List.of("x"));
            leave(".other@host@6700@1-000000.jsonl.part", "left", 11);
            files.write(List.of("y"));
        }
        assertTrue(names().contains("other@host@6700@1-000000.jsonl"), names().toString());
    }

    @Test
    void slowFilesAreAbandonedLater() throws Exception {
        // Files of two minutes: one is abandoned after twenty.
        leave(".run@host@6700@1-000000.jsonl.part", "left", 19);
        leave(".run@host@6700@2-000000.jsonl.part", "left", 21);
        try (RotatedFiles files = files(1000, 3, 2 * MINUTE_MS)) {
            files.write(List.of("x"));
        }
        assertEquals(
                List.of(
                        ".run@host@6700@1-000000.jsonl.part", "run@host@6700@2-000000.jsonl",
                        "run@host@6700@7-000000.jsonl"),
                names());
    }

    @Test
    void whatIsTakenOverCountsToTheBounds() throws Exception {
        leave(".run@host@6700@1-000000.jsonl.part", "x".repeat(100), 30);
        leave("run@host@6700@1-000001.jsonl", "x".repeat(100), 20);
        leave("run@host@6700@2-000000.jsonl", "x".repeat(100), 10);
        try (RotatedFiles files = files(100, 2, MINUTE_MS)) {
            files.write(List.of("x"));
            assertEquals(
                    List.of(
                            ".run@host@6700@7-000000.jsonl.part", "run@host@6700@1-000001.jsonl",
                            "run@host@6700@2-000000.jsonl"),
                    names());
        }
    }

    @Test
    void filesOfOtherHostsAndPortsAreNeverTouched() throws Exception {
        List<String> others = List.of(
                ".run@host@6701@1-000000.jsonl.part", ".run@host2@6700@1-000000.jsonl.part",
                "6700@7@host@6700-000000.jsonl", "notes.txt", "run-host-6700-1-000000.jsonl",
                "run@host@6701@7-000000.jsonl", "run@other@6700@7-000000.jsonl");
        for (String other : others) {
            leave(other, "x".repeat(500), 5000);
        }
        try (RotatedFiles files = files(10, 1, 0)) {
            for (int i = 0; i < 5; i++) {
                files.write(List.of("x".repeat(100)));
            }
        }
        List<String> left = names();
        assertTrue(left.containsAll(others), left.toString());
        assertEquals(others.size() + 1, left.size(), left.toString());
    }

    @Test
    void aProcessIdThatComesAgainWritesOverNothing() throws Exception {
        leave("run@host@6700@7-000003.jsonl", "first", 2);
        leave(".run@host@6700@7-000004.jsonl.part", "killed", 1);
        try (RotatedFiles files = files(1000, 8, 0)) {
            files.write(List.of("x"));
        }
        assertEquals(
                List.of(
                        ".run@host@6700@7-000004.jsonl.part", "run@host@6700@7-000003.jsonl",
                        "run@host@6700@7-000005.jsonl"),
                names());
        assertEquals("first", Files.readString(folder.resolve("run@host@6700@7-000003.jsonl")));
    }

    @Test
    void aFileThatIsGoneBeforeItsTurnStopsNothing() throws Exception {
        try (RotatedFiles files = files(1000, 3, 1_000_000)) {
            files.write(List.of("x"));
            Files.delete(folder.resolve(OURS.part()));
        }
        try (RotatedFiles files = files(1000, 3, 0)) {
            // A directory in a file's place can be neither read nor deleted as one.
            Files.createDirectories(folder.resolve("run@host@6700@1-000000.jsonl").resolve("inside"));
            leave("run@host@6700@2-000000.jsonl", "x".repeat(5000), 20);
            files.write(List.of("y"));
            files.write(List.of("z"));
        }
        assertFalse(names().contains("run@host@6700@2-000000.jsonl"), names().toString());
        assertTrue(names().contains("run@host@6700@7-000001.jsonl"), names().toString());
    }
}
