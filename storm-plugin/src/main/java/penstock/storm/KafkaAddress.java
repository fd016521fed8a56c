package penstock.storm;

/** Brokers and a topic, as {@code penstock profile} spells them: {@code kafka://broker:9092/topic}. */
record KafkaAddress(String brokers, String topic) {
    private static final String PREFIX = "kafka://";

    static KafkaAddress of(String text) {
        int slash = text.indexOf('/', PREFIX.length());
        if (text.startsWith(PREFIX) && slash > 0) {
            String brokers = text.substring(PREFIX.length(), slash);
            String topic = text.substring(slash + 1);
            if (namesPorts(brokers) && topic.matches("[A-Za-z0-9._-]+")) {
                return new KafkaAddress(brokers, topic);
            }
        }
        throw new IllegalArgumentException("\"" + text + "\": write kafka://broker:port/topic");
    }

    @Override
    public String toString() {
        return PREFIX + brokers + "/" + topic;
    }

    private static boolean namesPorts(String brokers) {
        for (String broker : brokers.split(",", -1)) {
            if (!broker.matches("[^:]+:\\d+|\\[[0-9A-Fa-f:.]+\\]:\\d+")) {
                return false;
            }
        }
        return true;
    }
}
