package penstock.storm;

import java.util.ArrayDeque;
import java.util.Deque;

/** Lines that wait to be sent, up to so many bytes; where more come, the oldest are dropped and counted. */
final class WaitingLines {
    private final long mostBytes;
    private final Deque<byte[]> lines = new ArrayDeque<>();
    private long bytes;
    private long dropped;
    private boolean closed;

    WaitingLines(long mostBytes) {
        this.mostBytes = mostBytes;
    }

    synchronized void add(byte[] line) {
        if (line.length > mostBytes) {
            dropped++;
            return;
        }
        while (bytes + line.length > mostBytes) {
            bytes -= lines.removeFirst().length;
            dropped++;
        }
        lines.addLast(line);
        bytes += line.length;
        notifyAll();
    }

    /** One that could not be sent is the oldest again; where newer ones have taken its place, it is dropped. */
    synchronized void putBack(byte[] line) {
        if (bytes + line.length > mostBytes) {
            dropped++;
            return;
        }
        lines.addFirst(line);
        bytes += line.length;
        notifyAll();
    }

    /** The oldest, as soon as there is one; null when no more will come. */
    synchronized byte[] take() throws InterruptedException {
        while (lines.isEmpty() && !closed) {
            wait();
        }
        byte[] line = lines.pollFirst();
        bytes -= line == null ? 0 : line.length;
        return line;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized void drop() {
        dropped++;
    }

    /** Whatever still waits will not be sent. */
    synchronized void dropAll() {
        dropped += lines.size();
        lines.clear();
        bytes = 0;
    }

    synchronized long dropped() {
        return dropped;
    }

    synchronized int waiting() {
        return lines.size();
    }
}
