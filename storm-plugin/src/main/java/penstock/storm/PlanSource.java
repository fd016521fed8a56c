package penstock.storm;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.apache.storm.DaemonConfig;
import org.apache.storm.scheduler.utils.ConfigLoaderFactoryService;
import org.apache.storm.scheduler.utils.IConfigLoader;

/** Where Nimbus has the plan from: a file, or what Storm's {@code scheduler.config.loader.uri} names. */
final class PlanSource {
    /** Path of the plan file on Nimbus' machine. */
    static final String FILE = "penstock.plan.file";
    /** The key under which a plan stands in what Storm's loader brings. */
    static final String LOADER_KEY = "penstock.plan";

    private final PlanFile file;
    private final IConfigLoader loader;
    private Object loaded;
    private PlanFile.Known known;

    PlanSource(Map<String, Object> conf) {
        Object path = conf.get(FILE);
        Object uri = conf.get(DaemonConfig.SCHEDULER_CONFIG_LOADER_URI);
        this.file = path == null ? null : new PlanFile(Path.of(path.toString()), PlanFile.mostBytes(conf));
        this.loader = file == null && uri != null ? ConfigLoaderFactoryService.createConfigLoader(conf) : null;
        this.known = new PlanFile.Known(
                null, "neither " + FILE + " nor " + DaemonConfig.SCHEDULER_CONFIG_LOADER_URI + " is set");
    }

    /** The plan as it is now; never throws. */
    PlanFile.Known look() {
        if (file != null) {
            return file.look();
        }
        if (loader == null) {
            return known;
        }
        try {
            known = load();
        } catch (RuntimeException | LinkageError error) {
            known = known.broken(error.toString());
        }
        return known;
    }

    private PlanFile.Known load() {
        Map<?, ?> brought = loader.load(LOADER_KEY);
        if (brought == null) {
            // Storm's loaders say the same of a source that cannot be reached and of one without the key.
            return known.broken("the loader brings no " + LOADER_KEY);
        }
        if (Objects.equals(brought, loaded)) {
            return known;
        }
        loaded = brought;
        String id = PlanReader.idOf(String.valueOf(brought).getBytes(StandardCharsets.UTF_8));
        return known.read(() -> PlanReader.read(brought, id), LOADER_KEY);
    }
}
