/// A sync config as its YAML says it, before its queries are compiled (docs/sync-config.md "The file").
struct ConfigDocument {
    /// The settings.
    var settings = ConfigSettings()
    /// Common table expressions that all streams see.
    var commonTables: [CommonTableDefinition] = []
    /// The streams.
    var streams: [StreamDefinition] = []
    /// Legacy bucket definitions.
    var definitions: [LegacyDefinition] = []
    /// The events.
    var events: [EventDefinition] = []
}

/// The section `config`.
struct ConfigSettings {
    /// The edition: 1 to 3.
    var edition = 1
    /// What was switched explicitly.
    var options: [Option: Bool] = [:]
    /// The upper limit for fractions of seconds.
    var timestampMaximumPrecision: SourceValueOptions.TimestampPrecision?

    /// Options that editions switch on.
    enum Option: String, CaseIterable {
        case timestampsISO8601 = "timestamps_iso8601"
        case versionedBucketIDs = "versioned_bucket_ids"
        case fixedJSONExtract = "fixed_json_extract"
        case declaredTypesAsJSON = "custom_postgres_types"
        case sqliteExpressions = "unstable_sqlite_expression_engine"
    }

    /// Whether an option is on: explicitly, or by the edition.
    func isOn(_ option: Option) -> Bool {
        options[option] ?? (option != .sqliteExpressions && edition >= 2)
    }

    /// How sources write values.
    var valueOptions: SourceValueOptions {
        var options = SourceValueOptions()
        options.timestampsISO8601 = isOn(.timestampsISO8601)
        options.timestampMaximumPrecision = timestampMaximumPrecision
        options.writesDeclaredTypesAsJSON = isOn(.declaredTypesAsJSON)
        return options
    }
}

/// One query with its place in the file.
struct ConfigQuery {
    /// The text.
    var text: String
    /// Where the text comes from.
    var source: ScalarSource
}

/// A common table expression.
struct CommonTableDefinition {
    /// The name.
    var name: String
    /// The place of the name.
    var nameRange: Range<Int>
    /// Its query.
    var query: ConfigQuery

    /// The name as queries find it, without regard to case.
    var key: String { name.lowercased() }
}

/// A stream.
struct StreamDefinition {
    /// The name.
    var name: String
    /// The place of the name.
    var nameRange: Range<Int>
    /// The queries.
    var queries: [ConfigQuery] = []
    /// Common table expressions that only this stream sees.
    var commonTables: [CommonTableDefinition] = []
    /// Whether clients get the stream without subscribing.
    var isSubscribedByDefault = false
    /// The priority of its buckets.
    var priority: Int32 = 3
    /// Whether the warning about dangerous parameters is switched off.
    var acceptsDangerousQueries = false
}

/// An event: what rows of the source tell the service.
struct EventDefinition {
    /// What it says; `nil` for one that this service does not deliver.
    var event: ParameterIndex.Event?
    /// The queries over the rows that tell it.
    var payloads: [ConfigQuery] = []
}

/// A legacy bucket definition.
struct LegacyDefinition {
    /// The name.
    var name: String
    /// The place of the name.
    var nameRange: Range<Int>
    /// The parameter queries; `nil` for one bucket for everyone.
    var parameters: [ConfigQuery]?
    /// The data queries.
    var data: [ConfigQuery] = []
    /// The priority of its buckets, if the definition says it.
    var priority: Int32?
    /// Whether the warning about dangerous parameters is switched off.
    var acceptsDangerousQueries = false
}
