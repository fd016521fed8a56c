package penstock.storm;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How a telemetry file is called: {@code run@host@port@pid-000001.jsonl}, and with a dot before and {@code .part}
 * behind while it is written.
 *
 * <p>No part of it holds an {@code @}, so a name tells without doubt whose file it is, also to the next worker on
 * the same host and port.
 */
record FileName(String run, String host, String port, String pid, long number) {
    private static final String SUFFIX = ".jsonl";
    private static final String UNFINISHED = ".part";
    private static final String WORD = "([A-Za-z0-9_.-]+)";
    private static final Pattern WHOLE =
            Pattern.compile(WORD + "@" + WORD + "@" + WORD + "@" + WORD + "-(\\d{6,18})\\.jsonl");

    FileName {
        run = plain(run);
        host = plain(host);
        port = plain(port);
        pid = plain(pid);
    }

    private static String plain(String text) {
        return text.replaceAll("[^A-Za-z0-9_.-]", "_");
    }

    /** The name that a file has, whole or not; null if it is none of ours. */
    static FileName parse(String text) {
        boolean written = text.startsWith(".") && text.endsWith(UNFINISHED);
        Matcher found = WHOLE.matcher(written ? text.substring(1, text.length() - UNFINISHED.length()) : text);
        return found.matches()
                ? new FileName(
                        found.group(1), found.group(2), found.group(3), found.group(4), Long.parseLong(found.group(5)))
                : null;
    }

    String whole() {
        return String.join("@", run, host, port, pid) + "-" + String.format("%06d", number) + SUFFIX;
    }

    String part() {
        return "." + whole() + UNFINISHED;
    }

    FileName numbered(long other) {
        return new FileName(run, host, port, pid, other);
    }

    /** Whether both were written on one host and port, by whatever process: the workers there come after each other. */
    boolean sharesPlace(FileName other) {
        return host.equals(other.host) && port.equals(other.port);
    }
}
