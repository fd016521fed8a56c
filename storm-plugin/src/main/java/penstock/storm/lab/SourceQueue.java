package penstock.storm.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Where in its input a spout is: how many tuples each of its tasks took and how many were acked, in a file that all its
 * tasks map, in whichever process they are. What a real source keeps in a broker; a process that is killed loses nothing
 * of it. Each task writes its own two numbers (little-endian, eight bytes each), so that no lock is needed.
 */
final class SourceQueue {
    private static final int BYTES = 8;

    private final MappedByteBuffer numbers;
    private final int tasks;
    private final int task;

    private SourceQueue(MappedByteBuffer numbers, int tasks, int task) {
        this.numbers = numbers;
        this.tasks = tasks;
        this.task = task;
    }

    /**
     * The queue of a component, as one of its tasks sees it.
     *
     * @param task number of the task among those of the component
     */
    static SourceQueue in(Path folder, String component, int tasks, int task) {
        try {
            Files.createDirectories(folder);
            try (FileChannel file = FileChannel.open(
                    folder.resolve("source-" + component), StandardOpenOption.CREATE, StandardOpenOption.READ,
                    StandardOpenOption.WRITE)) {
                MappedByteBuffer numbers = file.map(FileChannel.MapMode.READ_WRITE, 0, 2L * BYTES * tasks);
                numbers.order(ByteOrder.LITTLE_ENDIAN);
                return new SourceQueue(numbers, tasks, task);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** What was taken and not acked when the task last ended is to be taken again. */
    void giveBack() {
        numbers.putLong(2 * BYTES * task, acked(task));
    }

    void take() {
        numbers.putLong(2 * BYTES * task, taken(task) + 1);
    }

    void ack() {
        numbers.putLong(2 * BYTES * task + BYTES, acked(task) + 1);
    }

    /** By all tasks. */
    long taken() {
        long total = 0;
        for (int i = 0; i < tasks; i++) {
            total += taken(i);
        }
        return total;
    }

    private long taken(int number) {
        return numbers.getLong(2 * BYTES * number);
    }

    private long acked(int number) {
        return numbers.getLong(2 * BYTES * number + BYTES);
    }
}
