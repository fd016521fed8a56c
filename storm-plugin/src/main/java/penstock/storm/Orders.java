package penstock.storm;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.blobstore.AtomicOutputStream;
import org.apache.storm.blobstore.BlobStoreAclHandler;
import org.apache.storm.blobstore.ClientBlobStore;
import org.apache.storm.generated.KeyNotFoundException;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.SettableBlobMeta;
import org.apache.storm.thrift.TException;
import org.apache.storm.utils.Utils;

/** What changes a cluster. */
final class Orders {
    private static final int MOST_WAIT_SECONDS = 86_400;

    private Orders() {}

    static Map<String, Object> rebalance(Nimbus.Iface nimbus, Fields request) throws TException, PlanException {
        RebalanceOptions options = new RebalanceOptions();
        options.set_wait_secs(request.wholeOr("wait_s", 0, MOST_WAIT_SECONDS, 0));
        if (request.has("workers")) {
            options.set_num_workers(request.whole("workers", 1, 1_000_000));
        }
        if (request.has("executors")) {
            Fields counts = request.fields("executors");
            Map<String, Integer> executors = new HashMap<>();
            for (String component : counts.names()) {
                executors.put(component, counts.whole(component, 1, 1_000_000));
            }
            options.set_num_executors(executors);
        }
        nimbus.rebalance(request.text("name"), options);
        return Map.of();
    }

    static Map<String, Object> kill(Nimbus.Iface nimbus, Fields request) throws TException, PlanException {
        KillOptions options = new KillOptions();
        options.set_wait_secs(request.wholeOr("wait_s", 0, MOST_WAIT_SECONDS, 0));
        nimbus.killTopologyWithOpts(request.text("name"), options);
        return Map.of();
    }

    /** Runs the main class of a jar, which submits its topology as under {@code storm jar}. */
    static Map<String, Object> submit(Fields request) throws Exception {
        Path jar = Path.of(request.text("jar"));
        if (!Files.isRegularFile(jar)) {
            throw new PlanException("jar: there is no file " + jar);
        }
        List<String> arguments = new ArrayList<>(request.texts("arguments"));
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        System.setProperty("storm.jar", jar.toString());
        try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, Orders.class.getClassLoader())) {
            thread.setContextClassLoader(loader);
            loader.loadClass(request.text("main")).getMethod("main", String[].class)
                    .invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException failed) {
            if (failed.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failed;
        } finally {
            thread.setContextClassLoader(before);
        }
        return Map.of();
    }

    /**
     * Creates a blob or gives it new content; Storm brings it to the workers that map it.
     *
     * <p>A topology says which blob that is, and may name one of Storm's own or of somebody else: only plans are replaced.
     */
    static Map<String, Object> putBlob(Map<String, Object> conf, Fields request) throws TException, PlanException, IOException {
        String key = request.text("key");
        int mostBytes = PlanFile.mostBytes(conf);
        byte[] bytes;
        try {
            bytes = PlanFile.bytesOf(Path.of(request.text("file")), mostBytes);
        } catch (PlanException refused) {
            throw new PlanException(request.text("file") + " " + refused.getMessage());
        }
        ClientBlobStore store = Utils.getClientBlobStore(conf);
        try (AtomicOutputStream out = opened(store, key, mostBytes)) {
            out.write(bytes);
        } finally {
            store.shutdown();
        }
        return Map.of("bytes", bytes.length);
    }

    private static AtomicOutputStream opened(ClientBlobStore store, String key, int mostBytes)
            throws TException, IOException, PlanException {
        try {
            store.getBlobMeta(key);
            try (InputStream now = store.getBlob(key)) {
                if (!holdsPlanOrNothing(now.readNBytes(mostBytes))) {
                    throw new PlanException("the blob " + key + " holds no plan, so it is not replaced");
                }
            }
            return store.updateBlob(key);
        } catch (KeyNotFoundException absent) {
            return store.createBlob(key, new SettableBlobMeta(BlobStoreAclHandler.DEFAULT));
        }
    }

    /** Whether a blob is one for shares: a plan, or as empty as whoever created it could make it. */
    static boolean holdsPlanOrNothing(byte[] content) {
        String text = new String(content, StandardCharsets.UTF_8);
        try {
            return text.isBlank()
                    || Json.parse(text) instanceof Map<?, ?> file
                            && (file.isEmpty() || PlanReader.FORMAT.equals(file.get("format")));
        } catch (PlanException other) {
            return false;
        }
    }
}
