package penstock.storm.lab;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file of ids, one per line, handed to the operating system line by line: a process that is killed loses none.
 *
 * <p>Spouts write what was acked, sinks what arrived before they ack it. Every acked id must then be found at the sinks.
 */
final class Proof {
    private final OutputStream out;

    private Proof(OutputStream out) {
        this.out = out;
    }

    /** Null where no proof is asked for. */
    static Proof in(Object folder, String kind, String component, int task) {
        if (folder == null) {
            return null;
        }
        String name = kind + "-" + component + "-" + task + "-" + ProcessHandle.current().pid() + ".txt";
        try {
            Path path = Path.of(folder.toString());
            Files.createDirectories(path);
            return new Proof(Files.newOutputStream(path.resolve(name)));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    void add(String line) {
        try {
            out.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
