package penstock.storm;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A plan file that is looked at again and again, and read when it changed.
 *
 * <p>A plan that is broken leaves the last good one in force, because a fault may come while somebody is writing; a
 * plan that is gone is withdrawn. Needs nothing that Storm's workers do not have.
 */
final class PlanFile {
    /** Megabytes of a plan file that are read at most; a plan for 10,000 machines has a few. */
    static final String MOST_MB = "penstock.plan.file.mb";
    static final int DEFAULT_MOST_MB = 64;

    private static final Logger LOG = LoggerFactory.getLogger(PlanFile.class);
    /** What an array can hold, in megabytes. */
    private static final int MOST_MOST_MB = 2000;

    /**
     * What is known now.
     *
     * @param plan the plan to follow, or null
     * @param trouble why there is none, or why it is not the newest; empty if all is well
     */
    record Known(Plan plan, String trouble) {

        /** What is known after something went wrong. */
        Known broken(String why) {
            String text = "the plan is broken: " + why;
            return new Known(plan, plan == null ? text : text + "; the last good one holds");
        }

        /** What is known after reading again. */
        Known read(Reading reading, String name) {
            try {
                Plan read = reading.read();
                LOG.info("penstock: read plan {} of {}", read.id(), name);
                return new Known(read, "");
            } catch (PlanException wrong) {
                LOG.warn("penstock: {}: {}", name, wrong.getMessage());
                return broken(wrong.getMessage());
            }
        }
    }

    /** Reads a plan from wherever it is. */
    interface Reading {
        Plan read() throws PlanException;
    }

    private record Stamp(long modifiedNs, long size, Object key) {}

    private final Path path;
    private final int mostBytes;
    private Stamp stamp;
    private Known known = new Known(null, "no plan was read yet");

    PlanFile(Path path, int mostBytes) {
        this.path = path;
        this.mostBytes = mostBytes;
    }

    /** The limit that the settings of a daemon or topology set. */
    static int mostBytes(Map<String, Object> conf) {
        Object given = conf.get(MOST_MB);
        if (given == null) {
            return DEFAULT_MOST_MB << 20;
        }
        if (given instanceof Number mb && mb.doubleValue() > 0 && mb.doubleValue() <= MOST_MOST_MB) {
            return (int) (mb.doubleValue() * (1 << 20));
        }
        LOG.warn("penstock: {} must be more than 0 and at most {}, not {}; {} holds", MOST_MB, MOST_MOST_MB, given, DEFAULT_MOST_MB);
        return DEFAULT_MOST_MB << 20;
    }

    /** The plan as it is now; never throws. */
    Known look() {
        try {
            readIfChanged();
        } catch (IOException | RuntimeException error) {
            stamp = null;
            known = known.broken(error.toString());
        }
        return known;
    }

    private void readIfChanged() throws IOException {
        Stamp now = null;
        byte[] bytes;
        try {
            now = stampOf(path);
            if (now.equals(stamp)) {
                return;
            }
            bytes = bytesOf(path, mostBytes);
        } catch (PlanException refused) {
            // Not looked into again before it changes.
            stamp = now;
            LOG.warn("penstock: {}: {}", path, refused.getMessage());
            known = known.broken(refused.getMessage());
            return;
        } catch (NoSuchFileException gone) {
            stamp = null;
            known = new Known(null, "there is no file " + path);
            return;
        }
        known = known.read(() -> PlanReader.read(bytes), path.toString());
        // A file that changed while it was read is read again in the next round.
        stamp = now.equals(stampOf(path)) ? now : null;
    }

    /** All that a file holds, unless it is more than a plan can be, or no file: a pipe would never end. */
    static byte[] bytesOf(Path path, int mostBytes) throws IOException, PlanException {
        BasicFileAttributes seen = Files.readAttributes(path, BasicFileAttributes.class);
        if (!seen.isRegularFile()) {
            throw new PlanException("is no plain file");
        }
        if (seen.size() <= mostBytes) {
            try (InputStream in = Files.newInputStream(path)) {
                byte[] bytes = in.readNBytes(mostBytes);
                if (bytes.length < mostBytes || in.read() < 0) {
                    return bytes;
                }
            }
        }
        String megabytes = String.format(Locale.ROOT, "%.3g", mostBytes / (double) (1 << 20));
        throw new PlanException("is larger than " + megabytes + " MB, the limit that " + MOST_MB + " sets");
    }

    private static Stamp stampOf(Path path) throws IOException {
        BasicFileAttributes seen = Files.readAttributes(path, BasicFileAttributes.class);
        return new Stamp(seen.lastModifiedTime().to(TimeUnit.NANOSECONDS), seen.size(), seen.fileKey());
    }
}
