package penstock.storm;

import java.io.IOException;
import java.util.List;

/** Where telemetry lines go. */
interface LineSink extends AutoCloseable {
    /** Takes lines or fails; never waits for somebody else. */
    void write(List<String> lines) throws IOException;

    @Override
    void close() throws IOException;
}
