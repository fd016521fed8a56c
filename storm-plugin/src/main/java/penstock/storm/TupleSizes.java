package penstock.storm;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.task.GeneralTopologyContext;
import org.apache.storm.tuple.Tuple;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How large the tuples are that a task takes in, by the stream they came on: the mean of a few that are serialized for
 * the purpose, as Storm would between workers.
 *
 * <p>Storm counts messages to each peer but not their bytes. The first tuple of a stream is looked at and then one in a
 * thousand, at most one a second, so that it stays cheap. Used by one thread.
 */
final class TupleSizes {
    private static final Logger LOG = LoggerFactory.getLogger(TupleSizes.class);
    private static final int ONE_IN = 1000;
    private static final long AT_MOST_EVERY_NS = 1_000_000_000L;
    /** A mean over so many: a stream whose tuples grow shows it soon. */
    private static final int MEAN_OF = 50;

    private final Map<String, Object> conf;
    private final GeneralTopologyContext context;
    private final Map<String, Mean> means = new HashMap<>();
    private KryoTupleSerializer serializer;
    private boolean failed;

    private static final class Mean {
        double bytes;
        int looked;
        long seen;
        long lookedNs;
    }

    TupleSizes(Map<String, Object> conf, GeneralTopologyContext context) {
        this.conf = conf;
        this.context = context;
    }

    /** Mean bytes of tuples on the stream of this one; not a number where they cannot be serialized. */
    double of(Tuple tuple) {
        if (failed) {
            return Double.NaN;
        }
        Mean mean = means.computeIfAbsent(tuple.getSourceComponent() + ":" + tuple.getSourceStreamId(), unseen -> new Mean());
        if (mean.seen++ % ONE_IN == 0) {
            long now = System.nanoTime();
            if (mean.looked == 0 || now - mean.lookedNs >= AT_MOST_EVERY_NS) {
                mean.lookedNs = now;
                look(tuple, mean);
            }
        }
        return failed ? Double.NaN : mean.bytes;
    }

    private void look(Tuple tuple, Mean mean) {
        try {
            if (serializer == null) {
                serializer = new KryoTupleSerializer(conf, context);
            }
            int bytes = serializer.serialize(tuple).length;
            mean.looked++;
            mean.bytes += (bytes - mean.bytes) / Math.min(mean.looked, MEAN_OF);
        } catch (RuntimeException | LinkageError error) {
            // A topology in one worker may have tuples that were never meant to be serialized.
            failed = true;
            LOG.info("penstock: the size of tuples is not told: {}", error.toString());
        }
    }
}
