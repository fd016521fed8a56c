package penstock.storm.lab;

import java.util.Map;
import org.apache.storm.security.auth.IPrincipalToLocal;

/**
 * Whoever knows the lab's password is the user that its daemons run as.
 *
 * <p>A supervisor takes a worker of another user for dead, and starts the next one on a port that the old one still
 * holds.
 */
public final class LabUser implements IPrincipalToLocal {
    @Override
    public void prepare(Map<String, Object> settings) {}

    @Override
    public String toLocal(String principal) {
        return System.getProperty("user.name");
    }
}
