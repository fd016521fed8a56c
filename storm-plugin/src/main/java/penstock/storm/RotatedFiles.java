package penstock.storm;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * Lines in files that are renamed when they are whole, and deleted, the oldest first, when there is too much.
 *
 * <p>A file begins with a dot while it is written, so that a follower takes it only once it is whole. A full disk
 * or a folder that is gone costs lines, never the worker.
 */
final class RotatedFiles implements AutoCloseable {
    private static final String SUFFIX = ".jsonl";
    /** Files end after a while even if they are small; at one a minute this is a day. */
    private static final int MOST_SMALL_FILES = 1440;

    private final Path folder;
    private final String name;
    private final long mostBytes;
    private final int mostFiles;
    private final long longestMs;
    private BufferedWriter open;
    private Path part;
    private long number;
    private long bytes;
    private long beganMs;

    RotatedFiles(Path folder, String name, long mostBytes, int mostFiles, long longestMs) {
        this.folder = folder;
        this.name = name;
        this.mostBytes = mostBytes;
        this.mostFiles = mostFiles;
        this.longestMs = longestMs;
    }

    void write(List<String> lines) throws IOException {
        if (lines.isEmpty()) {
            return;
        }
        try {
            if (open == null) {
                begin();
            }
            for (String line : lines) {
                open.write(line);
                open.write('\n');
                bytes += line.length() + 1L;
            }
            open.flush();
            if (bytes >= mostBytes || System.currentTimeMillis() - beganMs >= longestMs) {
                close();
            }
        } catch (IOException error) {
            giveUp();
            throw error;
        }
    }

    private void begin() throws IOException {
        Files.createDirectories(folder);
        part = folder.resolve("." + name + "-" + String.format("%06d", number) + SUFFIX + ".part");
        open = Files.newBufferedWriter(part, StandardCharsets.UTF_8);
        bytes = 0;
        beganMs = System.currentTimeMillis();
    }

    /** Ends the file that is being written, if there is one. */
    @Override
    public void close() throws IOException {
        if (open == null) {
            return;
        }
        open.close();
        open = null;
        Files.move(part, folder.resolve(name + "-" + String.format("%06d", number) + SUFFIX), StandardCopyOption.ATOMIC_MOVE);
        number++;
        deleteOldest();
    }

    private void deleteOldest() throws IOException {
        List<Path> whole;
        try (Stream<Path> seen = Files.list(folder)) {
            whole = seen.filter(path -> path.getFileName().toString().startsWith(name + "-"))
                    .filter(path -> path.getFileName().toString().endsWith(SUFFIX))
                    .sorted()
                    .toList();
        }
        long total = 0;
        for (Path path : whole) {
            total += Files.size(path);
        }
        int left = whole.size();
        for (Path path : whole) {
            // Small files are kept as long as all of them together are within the bounds.
            boolean tooMuch = left > mostFiles && total > mostFiles * mostBytes;
            if (!tooMuch && left <= MOST_SMALL_FILES) {
                return;
            }
            total -= Files.size(path);
            left--;
            Files.deleteIfExists(path);
        }
    }

    private void giveUp() {
        try {
            if (open != null) {
                open.close();
            }
        } catch (IOException error) {
            // The first error is the one that is told.
        }
        open = null;
    }
}
