package penstock.storm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks at a plan file once a second on one thread for the whole worker, and tells who follows it. */
final class PlanWatch {
    private static final Logger LOG = LoggerFactory.getLogger(PlanWatch.class);
    private static final long EVERY_MS = 1000;
    /** One for each file of this worker; groupings are made by Storm, which hands them nothing to share. */
    private static final Map<String, PlanWatch> WATCHES = new HashMap<>();

    private final PlanFile file;
    private final List<Consumer<Plan>> followers = new ArrayList<>();
    private Plan last;

    private PlanWatch(String path, int mostBytes) {
        this.file = new PlanFile(Path.of(path), mostBytes);
    }

    /** The first to ask for a file says how large it may be. */
    static PlanWatch of(String path, int mostBytes) {
        synchronized (WATCHES) {
            return WATCHES.computeIfAbsent(path, unseen -> {
                PlanWatch watch = new PlanWatch(path, mostBytes);
                Thread thread = new Thread(watch::run, "penstock-shares");
                thread.setDaemon(true);
                thread.start();
                return watch;
            });
        }
    }

    synchronized void follow(Consumer<Plan> follower) {
        followers.add(follower);
        look();
        follower.accept(last);
    }

    private synchronized void look() {
        Plan plan = file.look().plan();
        if (plan != last) {
            last = plan;
            for (Consumer<Plan> follower : followers) {
                follower.accept(plan);
            }
        }
    }

    private void run() {
        while (true) {
            try {
                Thread.sleep(EVERY_MS);
                look();
            } catch (InterruptedException ended) {
                return;
            } catch (RuntimeException error) {
                LOG.warn("penstock: the shares stay as they are: {}", error.toString());
            }
        }
    }
}
