package penstock.storm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
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
    private static final Logger LOG = LoggerFactory.getLogger(PlanFile.class);

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
    private Stamp stamp;
    private Known known = new Known(null, "no plan was read yet");

    PlanFile(Path path) {
        this.path = path;
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
        Stamp now;
        byte[] bytes;
        try {
            now = stampOf(path);
            if (now.equals(stamp)) {
                return;
            }
            bytes = Files.readAllBytes(path);
        } catch (NoSuchFileException gone) {
            stamp = null;
            known = new Known(null, "there is no file " + path);
            return;
        }
        known = known.read(() -> PlanReader.read(bytes), path.toString());
        // A file that changed while it was read is read again in the next round.
        stamp = now.equals(stampOf(path)) ? now : null;
    }

    private static Stamp stampOf(Path path) throws IOException {
        BasicFileAttributes seen = Files.readAttributes(path, BasicFileAttributes.class);
        return new Stamp(seen.lastModifiedTime().to(TimeUnit.NANOSECONDS), seen.size(), seen.fileKey());
    }
}
