package penstock.storm;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lines in files that are renamed when they are whole, and deleted, the oldest first, when there is too much.
 *
 * <p>A file begins with a dot while it is written, so that a follower takes it only once it is whole. The bounds hold
 * for all files of one host and port: workers there are restarted, and each leaves its files to the next. A full
 * disk or a folder that is gone costs lines, never the worker.
 */
final class RotatedFiles implements LineSink {
    /** Files end after a while even if they are small; at one a minute this is a day. */
    private static final int MOST_SMALL_FILES = 1440;
    private static final long ABANDONED_MS = TimeUnit.MINUTES.toMillis(10);
    private static final Logger LOG = LoggerFactory.getLogger(RotatedFiles.class);

    private final Path folder;
    private final long mostBytes;
    private final int mostFiles;
    private final long longestMs;
    private FileName name;
    private BufferedWriter open;
    private boolean began;
    private boolean complained;
    private long bytes;
    private long beganMs;

    RotatedFiles(Path folder, FileName first, long mostBytes, int mostFiles, long longestMs) {
        this.folder = folder;
        this.name = first;
        this.mostBytes = mostBytes;
        this.mostFiles = mostFiles;
        this.longestMs = longestMs;
    }

    @Override
    public void write(List<String> lines) throws IOException {
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
        if (!began) {
            tidy();
            began = true;
        }
        open = Files.newBufferedWriter(folder.resolve(name.part()), StandardCharsets.UTF_8);
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
        FileName ended = name;
        name = ended.numbered(ended.number() + 1);
        makeWhole(ended);
        tidy();
    }

    private void makeWhole(FileName ended) throws IOException {
        try {
            Path whole = folder.resolve(ended.whole());
            Files.move(folder.resolve(ended.part()), whole, StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException gone) {
            // Another process did the same, or a person deleted it.
        }
    }

    /** Takes over what dead workers left and keeps the bounds; what fails is tried again after the next file. */
    private void tidy() {
        try {
            List<LeftFile> left = LeftFile.list(folder, name);
            if (!began) {
                numberAfter(left);
            }
            long before = System.currentTimeMillis() - Math.max(10 * longestMs, ABANDONED_MS);
            // A worker that was killed could not end its file; a line that is cut is set aside by the pipeline.
            left.stream()
                    .filter(file -> file.isPart() && file.modifiedMs() < before)
                    .forEach(file -> attempt(() -> makeWhole(file.name())));
            deleteOldest(left.stream().filter(file -> !file.isPart() || file.modifiedMs() < before).sorted().toList());
        } catch (IOException | RuntimeException error) {
            complain(error);
        }
    }

    /** In a container every worker may have the same process id: files of the one before are not written over. */
    private void numberAfter(List<LeftFile> left) {
        for (LeftFile file : left) {
            if (file.name().pid().equals(name.pid()) && file.name().number() >= name.number()) {
                name = name.numbered(file.name().number() + 1);
            }
        }
    }

    private void deleteOldest(List<LeftFile> whole) {
        long total = whole.stream().mapToLong(LeftFile::bytes).sum();
        int left = whole.size();
        for (LeftFile file : whole) {
            // Small files are kept as long as all of them together are within the bounds.
            boolean tooMuch = left > mostFiles && total > mostFiles * mostBytes;
            if (!tooMuch && left <= MOST_SMALL_FILES) {
                return;
            }
            // One that cannot be deleted, as another user's, does not cost a newer one.
            total -= file.bytes();
            left--;
            attempt(() -> Files.deleteIfExists(folder.resolve(file.name().whole())));
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    /** One file that cannot be renamed or deleted leaves the others their turn. */
    private void attempt(Step step) {
        try {
            step.run();
        } catch (IOException error) {
            complain(error);
        }
    }

    private void complain(Exception error) {
        if (!complained) {
            LOG.warn("penstock: old telemetry files stay for now: {}", error.toString());
            complained = true;
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
