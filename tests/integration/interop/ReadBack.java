import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindowedDeserializer;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindowedDeserializer;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.RecordConverters;
import org.apache.kafka.streams.state.internals.ValueAndTimestampSerde;

/**
 * Java's side of the interop tests. Every line of standard input is a JSON object with a "do";
 * every answer is one line of JSON on standard output. Nothing here knows of Penstock.
 */
public class ReadBack {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Duration PATIENCE = Duration.ofSeconds(60);
    static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            Object answer;
            try {
                answer = answer(JSON.readValue(line, Map.class));
            } catch (Throwable error) {
                error.printStackTrace();
                answer = Map.of("error", String.valueOf(error));
            }
            answers.write((JSON.writeValueAsString(answer) + "\n").getBytes("UTF-8"));
            answers.flush();
        }
    }

    @SuppressWarnings("unchecked")
    static Object answer(Map<String, Object> asked) throws Exception {
        return switch ((String) asked.get("do")) {
            case "read" -> read((String) asked.get("topic"), keys((String) asked.get("key"), asked),
                (String) asked.get("value"));
            case "place" -> place((String) asked.get("topic"), (List<String>) asked.get("keys"));
            case "count" -> count(asked);
            case "close-windows" -> closeWindows(asked);
            default -> throw new IllegalArgumentException(String.valueOf(asked));
        };
    }

    // Reading topics with Java's own deserializers

    static Deserializer<?> keys(String kind, Map<String, Object> asked) {
        long size = ((Number) asked.getOrDefault("window_ms", 0)).longValue();
        switch (kind) {
            case "string":
                return new StringDeserializer();
            case "time-windowed":
                return new TimeWindowedDeserializer<>(new StringDeserializer(), size);
            case "time-windowed-changelog": {
                TimeWindowedDeserializer<String> keys =
                    new TimeWindowedDeserializer<>(new StringDeserializer(), size);
                keys.setIsChangelogTopic(true);
                return keys;
            }
            case "session-windowed":
                return new SessionWindowedDeserializer<>(new StringDeserializer());
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    static List<Map<String, Object>> read(String topic, Deserializer<?> keys, String kind) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", "read_committed");
        List<Map<String, Object>> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> parts = consumer.partitionsFor(topic).stream()
                .map(part -> new TopicPartition(topic, part.partition())).toList();
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            Map<TopicPartition, Long> ends = consumer.endOffsets(parts);
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    found.add(described(record, keys, kind));
                }
            }
        }
        return found;
    }

    static Map<String, Object> described(ConsumerRecord<byte[], byte[]> record, Deserializer<?> keys, String kind) {
        Map<String, Object> row = new LinkedHashMap<>();
        Object key = keys.deserialize(record.topic(), record.key());
        if (key instanceof Windowed<?> windowed) {
            row.put("key", windowed.key());
            row.put("start", windowed.window().start());
            row.put("end", windowed.window().end());
        } else {
            row.put("key", key);
        }
        switch (kind) {
            case "string" -> row.put("value", new StringDeserializer().deserialize(record.topic(), record.value()));
            case "long" -> row.put("value", new LongDeserializer().deserialize(record.topic(), record.value()));
            case "long-and-timestamp" -> {
                // What Kafka Streams does to each record when it restores a timestamped store.
                byte[] stored = RecordConverters.rawValueToTimestampedValue().convert(record).value();
                ValueAndTimestamp<Long> value =
                    new ValueAndTimestampSerde<>(Serdes.Long()).deserializer().deserialize(record.topic(), stored);
                row.put("value", value == null ? null : value.value());
                row.put("stored_at", value == null ? null : value.timestamp());
            }
            default -> throw new IllegalArgumentException(kind);
        }
        row.put("timestamp", record.timestamp());
        row.put("partition", record.partition());
        return row;
    }

    // Where Java's default partitioner puts keys

    static Map<String, Integer> place(String topic, List<String> keys) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        Map<String, Integer> placed = new LinkedHashMap<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (String key : keys) {
                placed.put(key, producer.send(new ProducerRecord<>(topic, key, "x"))
                    .get(PATIENCE.toSeconds(), TimeUnit.SECONDS).partition());
            }
        }
        return placed;
    }

    // An application of Kafka Streams that counts by key, until its store says what is expected

    static Map<String, Object> count(Map<String, Object> asked) throws Exception {
        String store = (String) asked.get("store");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream((String) asked.get("source"), Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(store)
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().to((String) asked.get("sink"), Produced.with(Serdes.String(), Serdes.Long()));
        Properties settings = application(asked);
        Map<String, Object> expected = new LinkedHashMap<>();
        ((Map<?, ?>) asked.get("until")).forEach((key, n) -> expected.put((String) key, ((Number) n).longValue()));
        Map<String, Object> counts = new LinkedHashMap<>();
        boolean clean;
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (!counts.equals(expected) && System.nanoTime() < deadline) {
                Thread.sleep(100);
                if (streams.state() == KafkaStreams.State.RUNNING) {
                    counts = all(streams, store);
                }
            }
            clean = streams.close(PATIENCE);
        }
        return Map.of("counts", counts, "clean", clean);
    }

    static Map<String, Object> all(KafkaStreams streams, String store) {
        Map<String, Object> found = new LinkedHashMap<>();
        ReadOnlyKeyValueStore<String, Long> counts = streams.store(
            StoreQueryParameters.fromNameAndType(store, QueryableStoreTypes.keyValueStore()));
        try (var entries = counts.all()) {
            entries.forEachRemaining(entry -> found.put(entry.key, entry.value));
        }
        return found;
    }

    static Properties application(Map<String, Object> asked) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, asked.get("application"));
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, asked.get("state_dir"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // Kafka Streams stays in its group when it is closed: whoever comes next waits for the session, 45 s.
        settings.put(StreamsConfig.consumerPrefix("internal.leave.group.on.close"), true);
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        return settings;
    }

    // An application that gives a window's count when the window has closed, until so many came out

    static Map<String, Object> closeWindows(Map<String, Object> asked) throws Exception {
        Duration size = Duration.ofMillis(((Number) asked.get("window_ms")).longValue());
        String sink = (String) asked.get("sink");
        int until = ((Number) asked.get("until")).intValue();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream((String) asked.get("source"), Consumed.with(Serdes.String(), Serdes.String()))
            .groupByKey(Grouped.with(Serdes.String(), Serdes.String()))
            .windowedBy(TimeWindows.ofSizeWithNoGrace(size))
            .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("windows")
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName("held"))
            .toStream((window, count) -> window.key() + "@" + window.window().start())
            .to(sink, Produced.with(Serdes.String(), Serdes.Long()));
        List<Map<String, Object>> rows = List.of();
        boolean clean;
        try (KafkaStreams streams = new KafkaStreams(builder.build(), application(asked))) {
            streams.start();
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (rows.size() < until && System.nanoTime() < deadline) {
                Thread.sleep(100);
                rows = read(sink, new StringDeserializer(), "long");
            }
            clean = streams.close(PATIENCE);
        }
        Map<String, Object> counts = new LinkedHashMap<>();
        rows.forEach(row -> counts.put((String) row.get("key"), row.get("value")));
        return Map.of("counts", counts, "clean", clean);
    }
}
