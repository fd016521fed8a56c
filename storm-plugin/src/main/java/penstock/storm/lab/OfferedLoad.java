package penstock.storm.lab;

import java.util.Arrays;

/**
 * What a source is offered over time: tuples/s from one moment to the next, in steps.
 *
 * <p>Written as lines of a time of day and a rate, {@code 1700000000.0 60}, in the order of time. A single number is a rate
 * without a beginning: how much was offered so far is not known then.
 */
final class OfferedLoad {
    static final OfferedLoad NOTHING = new OfferedLoad(new double[] {0}, new double[] {0});

    private final double[] fromS;
    private final double[] perS;

    private OfferedLoad(double[] fromS, double[] perS) {
        this.fromS = fromS;
        this.perS = perS;
    }

    /** Null where the text is no load: somebody is writing it. */
    static OfferedLoad of(String text) {
        String[] lines = text.strip().split("\\R");
        double[] fromS = new double[lines.length];
        double[] perS = new double[lines.length];
        try {
            for (int i = 0; i < lines.length; i++) {
                String[] words = lines[i].strip().split("\\s+");
                if (words.length > 2 || (words.length == 1 && lines.length > 1)) {
                    return null;
                }
                fromS[i] = words.length == 1 ? Double.NEGATIVE_INFINITY : Double.parseDouble(words[0]);
                perS[i] = Double.parseDouble(words[words.length - 1]);
                if (!(perS[i] >= 0) || (i > 0 && !(fromS[i] >= fromS[i - 1]))) {
                    return null;
                }
            }
        } catch (NumberFormatException unreadable) {
            return null;
        }
        return new OfferedLoad(fromS, perS);
    }

    /** Tuples/s at a time of day. */
    double perS(double nowS) {
        double rate = 0;
        for (int i = 0; i < fromS.length && fromS[i] <= nowS; i++) {
            rate = perS[i];
        }
        return rate;
    }

    /** Tuples that were offered until a time of day; not a number where it is not known since when. */
    double until(double nowS) {
        if (Double.isInfinite(fromS[0])) {
            return Double.NaN;
        }
        double total = 0;
        for (int i = 0; i < fromS.length && fromS[i] < nowS; i++) {
            double end = i + 1 < fromS.length ? Math.min(fromS[i + 1], nowS) : nowS;
            total += (end - fromS[i]) * perS[i];
        }
        return total;
    }

    @Override
    public String toString() {
        return Arrays.toString(fromS) + " " + Arrays.toString(perS);
    }
}
