/// The sections `streams` and `with`.
extension ConfigReader {
    private static let streamKeys = [
        "query", "queries", "with", "auto_subscribe", "priority", "accept_potentially_dangerous_queries",
    ]

    /// Reads the section `streams`.
    mutating func readStreams(_ section: ConfigNode.Entry, edition: Int) -> [StreamDefinition] {
        guard let entries = namedEntries(of: section.value, what: "“streams”") else { return [] }
        if edition < 3 {
            diagnostics.report(
                .streamsAlpha,
                "Streams of edition \(edition) are compiled as those of edition 3, with the NULL rules of edition 2.",
                hint: "Set “edition: 3” if there are no “bucket_definitions”.",
                at: section.keyRange
            )
        }
        return entries.compactMap { readStream($0, edition: edition) }
    }

    private mutating func readStream(_ entry: ConfigNode.Entry, edition: Int) -> StreamDefinition? {
        guard let options = entries(of: entry.value, what: "Stream “\(entry.key)”") else { return nil }
        var stream = StreamDefinition(name: entry.key, nameRange: entry.keyRange)
        stream.acceptsDangerousQueries = entry.value.hasDangerousQueriesTag
        for option in options {
            switch option.key {
            case "query":
                stream.queries += [query(option.value)].compactMap { $0 }
            case "queries":
                if edition < 3 {
                    diagnostics.report(.cteEdition, "“queries” needs edition 3.", at: option.keyRange)
                }
                stream.queries += queries(option)
            case "with":
                if edition < 3 {
                    diagnostics.report(.cteEdition, "“with” needs edition 3.", at: option.keyRange)
                } else {
                    stream.commonTables = readCommonTables(option)
                }
            case "auto_subscribe":
                stream.isSubscribedByDefault = bool(option) ?? false
            case "priority":
                stream.priority = priority(option) ?? 3
            case "accept_potentially_dangerous_queries":
                stream.acceptsDangerousQueries = bool(option) ?? false
            default:
                reportUnknownKey(option, of: "a stream", among: Self.streamKeys)
            }
        }
        let count = options.count { $0.key == "query" || $0.key == "queries" }
        if count > 1 || (count == 0 && edition == 3) {
            diagnostics.report(
                .streamQueryXorQueries,
                "Stream “\(entry.key)” must have either “query” or “queries”.",
                at: entry.value.range
            )
        }
        return stream
    }

    /// Reads common table expressions.
    mutating func readCommonTables(_ entry: ConfigNode.Entry) -> [CommonTableDefinition] {
        guard let entries = namedEntries(of: entry.value, what: "“with”") else { return [] }
        var tables: [CommonTableDefinition] = []
        for entry in entries {
            guard let query = query(entry.value) else { continue }
            let table = CommonTableDefinition(name: entry.key, nameRange: entry.keyRange, query: query)
            if tables.contains(where: { $0.key == table.key }) {
                diagnostics.report(
                    .streamDuplicateName,
                    "“\(entry.key)” is defined twice: case does not matter.",
                    at: entry.keyRange
                )
            }
            tables.append(table)
        }
        return tables
    }
}
