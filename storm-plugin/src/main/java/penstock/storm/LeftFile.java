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
record LeftFile(FileName name, boolean isWhole, long modifiedMs, long bytes) implements Comparable<LeftFile> {

    /** Files of the same host and port, whatever run or process wrote them; those of others are not even looked at. */
    static List<LeftFile> list(Path folder, FileName ours) throws IOException {
        List<LeftFile> found = new ArrayList<>();
        try (DirectoryStream<Path> seen = Files.newDirectoryStream(folder)) {
            for (Path path : seen) {
                String text = path.getFileName().toString();
                FileName name = FileName.parse(text);
                if (name == null || !name.sharesPlace(ours)) {
                    continue;
                }
                try {
                    BasicFileAttributes is = Files.readAttributes(path, BasicFileAttributes.class);
                    found.add(new LeftFile(name, text.equals(name.whole()), is.lastModifiedTime().toMillis(), is.size()));
                } catch (NoSuchFileException gone) {
                    // Another process cleans up at the same time.
                }
            }
        }
        return found;
    }

    @Override
    public int compareTo(LeftFile other) {
        return Comparator.comparingLong(LeftFile::modifiedMs)
                .thenComparing(file -> file.name().whole())
                .compare(this, other);
    }
}
