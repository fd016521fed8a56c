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

    /** The first file of a writer, in words that file systems and globs take as they are. */
    static FileName first(String run, String host, String port, long pid) {
        return new FileName(plain(run), plain(host), plain(port), String.valueOf(pid), 0);
    }

    private static String plain(String text) {
        return text.replaceAll("[^A-Za-z0-9_.-]", "_");
    }

    /** Whether a file is still written, or was when its writer died. */
    static boolean isPart(String text) {
        return text.startsWith(".") && text.endsWith(UNFINISHED) && text.length() > UNFINISHED.length();
    }

    /** The name that a file has, whole or not; null if it is none of ours. */
    static FileName parse(String text) {
        String whole = isPart(text) ? text.substring(1, text.length() - UNFINISHED.length()) : text;
        Matcher found = WHOLE.matcher(whole);
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

    /** Whether a file was written on the same host and port, by whatever process: workers there follow each other. */
    boolean sharesPlace(String text) {
        return text.contains("@" + host + "@" + port + "@");
    }
}
