package penstock.storm.lab;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.tuple.Tuple;

/** Counts what comes in: since it started, or within the last slots of time that a clock moves on. */
final class CountBolt extends WorkBolt {
    private static final long serialVersionUID = 1L;

    private final int slots;
    private final long slotNs;
    private transient Map<String, long[]> counts;
    private transient long slot;

    /** Counts for ever. */
    CountBolt() {
        this(1, Long.MAX_VALUE);
    }

    /** Counts within a window of so many slots. */
    CountBolt(int slots, long slotNs) {
        super(0, true);
        this.slots = slots;
        this.slotNs = slotNs;
    }

    @Override
    void arrived(Tuple tuple) {
        super.arrived(tuple);
        if (counts == null) {
            counts = new HashMap<>();
        }
        long now = System.nanoTime() / slotNs;
        if (now != slot) {
            forget(now - slot);
            slot = now;
        }
        counts.computeIfAbsent(tuple.getStringByField("value"), word -> new long[slots])[(int) Math.floorMod(now, slots)]++;
    }

    /** Empties the slots that are over, and the words that have none left. */
    private void forget(long passed) {
        for (long back = 0; back < Math.min(passed, slots); back++) {
            int index = (int) Math.floorMod(slot + 1 + back, slots);
            counts.values().forEach(row -> row[index] = 0);
        }
        counts.values().removeIf(row -> java.util.Arrays.stream(row).allMatch(count -> count == 0));
    }
}
