package penstock.storm;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.Objects;
import org.apache.storm.DaemonConfig;
import org.apache.storm.scheduler.utils.ConfigLoaderFactoryService;
import org.apache.storm.scheduler.utils.IConfigLoader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where the plan comes from: a file, or what Storm's {@code scheduler.config.loader.uri} names.
 *
 * <p>Looked at in every round and read when it changed. A plan that is broken leaves the last good one in
 * force, because a fault may come while somebody is writing; a plan that is gone is withdrawn.
 */
public final class PlanSource {
    /** Path of the plan file on Nimbus' machine. */
    public static final String FILE = "penstock.plan.file";
    /** The key under which a plan stands in what Storm's loader brings. */
    public static final String LOADER_KEY = "penstock.plan";

    private static final Logger LOG = LoggerFactory.getLogger(PlanSource.class);

    /**
     * What is known now.
     *
     * @param plan the plan to follow, or null
     * @param trouble why there is none, or why it is not the newest; empty if all is well
     */
    public record Known(Plan plan, String trouble) {}

    private record Stamp(long modifiedNs, long size, Object key) {}

    private final Path file;
    private final IConfigLoader loader;
    private Stamp stamp;
    private Object loaded;
    private Known known;

    public PlanSource(Map<String, Object> conf) {
        Object given = conf.get(FILE);
        Object uri = conf.get(DaemonConfig.SCHEDULER_CONFIG_LOADER_URI);
        this.file = given != null ? Path.of(given.toString()) : null;
        this.loader = file == null && uri != null ? ConfigLoaderFactoryService.createConfigLoader(conf) : null;
        this.known = new Known(null, file == null && loader == null ? nothingSet() : "no plan was read yet");
    }

    private static String nothingSet() {
        return "neither " + FILE + " nor " + DaemonConfig.SCHEDULER_CONFIG_LOADER_URI + " is set";
    }

    /** The plan as it is now; never throws. */
    public Known look() {
        try {
            if (file != null) {
                lookAtFile();
            } else if (loader != null) {
                lookAtLoader();
            }
        } catch (Exception | LinkageError error) {
            stamp = null;
            known = broken(String.valueOf(error));
        }
        return known;
    }

    private void lookAtFile() throws IOException {
        Stamp now;
        byte[] bytes;
        try {
            now = stampOf(file);
            if (now.equals(stamp)) {
                return;
            }
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException gone) {
            stamp = null;
            known = new Known(null, "there is no file " + file);
            return;
        }
        known = read(() -> PlanReader.read(bytes), file.toString());
        // A file that changed while it was read is read again in the next round.
        stamp = now.equals(stampOf(file)) ? now : null;
    }

    private static Stamp stampOf(Path file) throws IOException {
        BasicFileAttributes seen = Files.readAttributes(file, BasicFileAttributes.class);
        return new Stamp(seen.lastModifiedTime().to(java.util.concurrent.TimeUnit.NANOSECONDS), seen.size(), seen.fileKey());
    }

    private void lookAtLoader() {
        Map<?, ?> brought = loader.load(LOADER_KEY);
        if (brought == null) {
            // Storm's loaders say the same of a source that cannot be reached and of one without the key.
            known = known.plan() == null
                    ? new Known(null, "the loader brings no " + LOADER_KEY)
                    : broken("the loader brings no " + LOADER_KEY + " any more");
            return;
        }
        if (Objects.equals(brought, loaded)) {
            return;
        }
        String id = PlanReader.idOf(String.valueOf(brought).getBytes(java.nio.charset.StandardCharsets.UTF_8));
        known = read(() -> PlanReader.read(brought, id), LOADER_KEY);
        loaded = brought;
    }

    private interface Reading {
        Plan read() throws PlanException;
    }

    private Known read(Reading reading, String name) {
        try {
            Plan plan = reading.read();
            LOG.info("penstock: read plan {} of {}", plan.id(), name);
            return new Known(plan, "");
        } catch (PlanException wrong) {
            LOG.warn("penstock: {}: {}", name, wrong.getMessage());
            return broken(wrong.getMessage());
        }
    }

    private Known broken(String why) {
        String trouble = "the plan is broken: " + why;
        return new Known(known.plan(), known.plan() == null ? trouble : trouble + "; the last good one holds");
    }

}
