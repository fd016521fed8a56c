package penstock.storm.lab;

/**
 * What a source is offered over time: tuples/s from one moment to the next, in steps.
 *
 * <p>Written as lines of a time of day and a rate, {@code 1700000000.0 60}, in the order of time. A number alone is a
 * rate that holds since it was written.
 */
final class OfferedLoad {
    static final OfferedLoad NOTHING = new OfferedLoad(new double[] {0}, new double[] {0});

    private final double[] fromS;
    private final double[] perS;

    private OfferedLoad(double[] fromS, double[] perS) {
        this.fromS = fromS;
        this.perS = perS;
    }

    /**
     * Null where the text is no load: somebody is writing it.
     *
     * @param writtenS since when a number alone holds
     */
    static OfferedLoad of(String text, double writtenS) {
        String[] lines = text.strip().split("\\R");
        double[] fromS = new double[lines.length];
        double[] perS = new double[lines.length];
        try {
            for (int i = 0; i < lines.length; i++) {
                String[] words = lines[i].strip().split("\\s+");
                if (words.length > 2 || (words.length == 1 && lines.length > 1)) {
                    return null;
                }
                fromS[i] = words.length == 1 ? writtenS : Double.parseDouble(words[0]);
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

    /** Tuples that were offered until a time of day. */
    double until(double nowS) {
        double total = 0;
        for (int i = 0; i < fromS.length && fromS[i] < nowS; i++) {
            double end = i + 1 < fromS.length ? Math.min(fromS[i + 1], nowS) : nowS;
            total += (end - fromS[i]) * perS[i];
        }
        return total;
    }
}
