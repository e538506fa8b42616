import PowerSyncServiceCore

/// The keys of a sync config.
///
/// The page *Sync config reference* says more about each. A test tries every key in every mapping, here and with the reader.
enum SyncConfigSchema {
    private typealias Key = SchemaObject.Key

    private static let priority = Key("priority", "0 is the most urgent, 3 the default.", .integer(0...3))
    private static let dangerous = Key(
        "accept_potentially_dangerous_queries",
        "Switches off the warning about parameters that a client chooses.",
        .boolean
    )
    private static let commonTables = Key("with", "Common table expressions: a query by its name.", .named(.text))

    /// The file.
    static var root: SchemaObject {
        SchemaObject(keys: [
            Key("config", "The edition of the language, and options.", .object(config)),
            commonTables,
            Key("streams", "What clients subscribe to, or get by themselves.", .named(.object(stream))),
            Key(
                "bucket_definitions",
                "The form of editions 1 and 2; powersync convert writes it as streams.",
                .named(.object(definition))
            ),
            Key("event_definitions", "Checked, and not used.", .named(.object(event))),
        ])
    }

    private static let config = SchemaObject(keys: [
        Key("edition", "3 for streams.", .integer(1...3)),
        Key("storage_version", "No effect here.", .integer(2...4)),
        Key(
            "timestamp_max_precision",
            "The most digits of fractions of seconds.",
            .choice(["seconds", "milliseconds", "microseconds", "nanoseconds"])
        ),
        Key("timestamps_iso8601", "Whether times are 2024-01-02T03:04:05.000000Z.", .boolean),
        Key("versioned_bucket_ids", "No effect here: bucket names have the number of the config.", .boolean),
        Key("fixed_json_extract", "Whether paths into JSON are read as they are written.", .boolean),
        Key("custom_postgres_types", "Whether values of types of the database are JSON.", .boolean),
        Key("unstable_sqlite_expression_engine", "Not possible here, other than false.", .boolean),
    ])

    private static let stream = SchemaObject(keys: [
        Key("query", "Which rows are in the stream.", .text),
        Key("queries", "Several queries, instead of one.", .list(.text)),
        commonTables,
        Key("auto_subscribe", "Whether clients get the stream without subscribing.", .boolean),
        priority, dangerous,
    ])

    private static let definition = SchemaObject(keys: [
        Key("parameters", "Queries for the parameters of the buckets of a client.", .oneOrMore(.text)),
        Key("data", "Queries for the rows of a bucket.", .list(.text)),
        priority, dangerous,
    ])

    private static let event = SchemaObject(keys: [Key("payloads", "Queries.", .list(.text))])
}
