/// The sections `bucket_definitions` and `event_definitions`.
extension ConfigReader {
    private static let definitionKeys = ["data", "parameters", "priority", "accept_potentially_dangerous_queries"]

    /// Reads the section `bucket_definitions`.
    mutating func readDefinitions(_ section: ConfigNode.Entry, streams: [StreamDefinition]) -> [LegacyDefinition] {
        guard let entries = namedEntries(of: section.value, what: "“bucket_definitions”") else { return [] }
        return entries.compactMap { entry in
            if streams.contains(where: { $0.name.utf8.elementsEqual(entry.key.utf8) }) {
                diagnostics.report(
                    .streamDuplicateName,
                    "“\(entry.key)” is the name of a stream, too.",
                    at: entry.keyRange
                )
            } else if let stream = streams.first(where: { Self.isBucketName(entry.key, of: $0.name) }) {
                diagnostics.report(
                    .streamDuplicateName,
                    "The buckets of the stream “\(stream.name)” are named like “\(entry.key)”.",
                    hint: "Give the bucket definition another name.",
                    at: entry.keyRange
                )
            }
            return readDefinition(entry)
        }
    }

    /// Whether a bucket definition of a stream may have a name: `<stream>|<number>`.
    private static func isBucketName(_ name: String, of stream: String) -> Bool {
        guard name.utf8.starts(with: "\(stream)|".utf8) else { return false }
        let number = name.utf8.dropFirst(stream.utf8.count + 1)
        return !number.isEmpty && number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private mutating func readDefinition(_ entry: ConfigNode.Entry) -> LegacyDefinition? {
        guard let options = entries(of: entry.value, what: "Bucket definition “\(entry.key)”") else { return nil }
        var definition = LegacyDefinition(name: entry.key, nameRange: entry.keyRange)
        definition.acceptsDangerousQueries = entry.value.hasDangerousQueriesTag
        for option in options {
            switch option.key {
            case "data":
                definition.data = queries(option)
            case "parameters":
                definition.parameters = readParameters(option)
            case "priority":
                definition.priority = priority(option)
            case "accept_potentially_dangerous_queries":
                definition.acceptsDangerousQueries = bool(option) ?? false
            default:
                reportUnknownKey(option, of: "a bucket definition", among: Self.definitionKeys)
            }
        }
        if !options.contains(where: { $0.key == "data" }) {
            diagnostics.report(
                .yamlMissingKey,
                "Bucket definition “\(entry.key)” has no “data”.",
                at: entry.value.range
            )
        }
        return definition
    }

    private mutating func readParameters(_ entry: ConfigNode.Entry) -> [ConfigQuery] {
        guard entry.value.elements != nil else { return [query(entry.value)].compactMap { $0 } }
        let list = queries(entry)
        if entry.value.elements?.isEmpty == true {
            diagnostics.report(
                .legacyNoParameters,
                "“parameters” has no query.",
                hint: "Leave it out for one bucket for everyone.",
                at: entry.value.range
            )
        }
        return list
    }

    /// Reads the section `event_definitions`: an event of another name than those of ``ParameterIndex/Event`` is only checked.
    mutating func readEvents(_ section: ConfigNode.Entry) -> [EventDefinition] {
        guard let entries = namedEntries(of: section.value, what: "“event_definitions”") else { return [] }
        var events: [EventDefinition] = []
        for entry in entries {
            guard let options = self.entries(of: entry.value, what: "Event “\(entry.key)”") else { continue }
            var definition = EventDefinition(event: ParameterIndex.Event(rawValue: entry.key))
            for option in options {
                if option.key == "payloads" {
                    definition.payloads += queries(option)
                } else {
                    reportUnknownKey(option, of: "an event", among: ["payloads"])
                }
            }
            if !options.contains(where: { $0.key == "payloads" }) {
                diagnostics.report(
                    .yamlMissingKey,
                    "Event “\(entry.key)” has no “payloads”.",
                    at: entry.value.range
                )
            }
            if definition.event == nil {
                diagnostics.report(
                    .configNoEffect,
                    "This service delivers no event “\(entry.key)”: it is checked, but not used.",
                    hint: "The events are \(ParameterIndex.Event.allCases.map(\.rawValue).joined(separator: " and ")).",
                    at: entry.keyRange
                )
            }
            events.append(definition)
        }
        return events
    }
}
