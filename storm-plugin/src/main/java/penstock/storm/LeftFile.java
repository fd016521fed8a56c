package penstock.storm;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A telemetry file that lies in the folder; the oldest comes first. */
record LeftFile(FileName name, boolean isPart, long modifiedMs, long bytes) implements Comparable<LeftFile> {
    private static final Comparator<LeftFile> BY_AGE =
            Comparator.comparingLong(LeftFile::modifiedMs).thenComparing(file -> file.name().whole());

    /** Files of the same host and port, whatever run or process wrote them; those of others are not even looked at. */
    static List<LeftFile> list(Path folder, FileName ours) throws IOException {
        List<LeftFile> found = new ArrayList<>();
        try (DirectoryStream<Path> seen = Files.newDirectoryStream(folder)) {
            for (Path path : seen) {
                String text = path.getFileName().toString();
                FileName name = ours.sharesPlace(text) ? FileName.parse(text) : null;
                if (name == null) {
                    continue;
                }
                try {
                    BasicFileAttributes is = Files.readAttributes(path, BasicFileAttributes.class);
                    found.add(new LeftFile(name, FileName.isPart(text), is.lastModifiedTime().toMillis(), is.size()));
                } catch (NoSuchFileException gone) {
                    // Another process cleans up at the same time.
                }
            }
        }
        return found;
    }

    @Override
    public int compareTo(LeftFile other) {
        return BY_AGE.compare(this, other);
    }
}
