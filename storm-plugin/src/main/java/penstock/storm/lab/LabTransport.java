package penstock.storm.lab;

import java.io.IOException;
import org.apache.storm.security.auth.digest.DigestSaslTransportPlugin;
import org.apache.storm.thrift.transport.TTransport;
import org.apache.storm.thrift.transport.TTransportException;

/**
 * Storm's own transport with passwords, for daemons that have several loopback addresses.
 *
 * <p>Every server of that transport takes itself for {@code localhost} and refuses clients that call it otherwise.
 */
public final class LabTransport extends DigestSaslTransportPlugin {
    private static final String AS_SERVERS_CALL_THEMSELVES = "localhost";

    @Override
    public TTransport connect(TTransport transport, String host, String asUser) throws IOException, TTransportException {
        return super.connect(transport, AS_SERVERS_CALL_THEMSELVES, asUser);
    }
}
