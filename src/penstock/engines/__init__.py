"""What runs streams: Apache Storm, Apache Spark, and the Java both of them need."""
