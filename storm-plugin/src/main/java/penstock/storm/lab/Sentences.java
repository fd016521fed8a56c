package penstock.storm.lab;

/** Text to count, the same for the same number. */
final class Sentences {
    private static final String[] WORDS =
            "water falls through the pipe and the wheel turns as long as the gate is open to the stream".split(" ");
    private static final int LENGTH = 8;

    private Sentences() {}

    static String of(long number) {
        StringBuilder text = new StringBuilder();
        long state = number * 0x9E3779B97F4A7C15L;
        for (int i = 0; i < LENGTH; i++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            text.append(i == 0 ? "" : " ").append(WORDS[(int) ((state >>> 33) % WORDS.length)]);
        }
        return text.toString();
    }
}
