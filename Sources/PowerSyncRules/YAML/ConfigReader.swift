import Yams

/// Reads the YAML of a sync config (docs/sync-config.md "The file").
///
/// ```yaml
/// config:
///   edition: 3
/// streams:
///   my_lists:
///     auto_subscribe: true
///     query: SELECT * FROM lists WHERE owner_id = auth.user_id()
/// ```
///
/// Everything that is wrong is reported; reading goes on behind it.
struct ConfigReader {
    /// Findings so far.
    private(set) var diagnostics: DiagnosticCollector

    /// Creates a reader.
    init(source: SourceText) {
        diagnostics = DiagnosticCollector(source: source)
    }

    /// The stream definitions of a config, as far as they could be read.
    mutating func read(_ yaml: String) -> [StreamDefinition] {
        guard let root = document(yaml) else { return [] }
        guard let entries = entries(of: root, what: "The config") else { return [] }
        let settings = entries.first { $0.key == "config" }
        let edition = settings.flatMap { readSettings($0.value) } ?? missingEdition(at: settings?.keyRange, root: root)
        var streams: [StreamDefinition]?
        for entry in entries {
            switch entry.key {
            case "config":
                break
            case "streams":
                streams = readStreams(entry)
            case "with":
                if edition == 2, !isEmptyMap(entry.value) {
                    diagnostics.report(.cteEdition, "Global “with” needs edition 3.", at: entry.keyRange)
                } else {
                    reportNotYet(entry, "Common table expressions (“with”) are")
                }
            case "bucket_definitions":
                if edition == 3, !isEmptyMap(entry.value) {
                    diagnostics.report(
                        .configEdition,
                        "“bucket_definitions” are not part of edition 3; write “streams”.",
                        at: entry.keyRange
                    )
                } else {
                    reportNotYet(entry, "“bucket_definitions” are")
                }
            case "event_definitions":
                reportNotYet(entry, "“event_definitions” are")
            default:
                diagnostics.report(
                    .yamlUnknownKey,
                    "Unknown key “\(entry.key)”; a config has “config” and “streams”.",
                    at: entry.keyRange
                )
            }
        }
        guard let streams else {
            if !entries.contains(where: { $0.key == "streams" }) {
                diagnostics.report(.streamsMissing, "The config has no “streams”.", at: root.range)
            }
            return []
        }
        return streams
    }

    /// Adds findings of later steps.
    mutating func report(_ code: DiagnosticCode, _ message: String, at range: Range<Int>) {
        diagnostics.report(code, message, at: range)
    }
}

// MARK: - YAML

extension ConfigReader {
    private mutating func document(_ yaml: String) -> ConfigNode? {
        let source = diagnostics.source
        do {
            guard let root = try Parser(yaml: yaml, encoding: .utf8).singleRoot() else {
                diagnostics.report(.yamlNotMap, "The config is empty; it needs “config” and “streams”.", at: 0..<0)
                return nil
            }
            return ConfigNode(root, in: source)
        } catch let error as YamlError {
            let (problem, offset) = error.place(in: yaml, source)
            diagnostics.report(.yamlSyntax, problem, at: offset..<min(offset + 1, source.bytes.count))
        } catch {
            diagnostics.report(.yamlSyntax, "The file cannot be read: \(error).", at: 0..<0)
        }
        return nil
    }

    private mutating func entries(of node: ConfigNode, what: String) -> [ConfigNode.Entry]? {
        var rejected: [Range<Int>] = []
        guard let entries = node.entries(rejecting: { rejected.append($0) }) else {
            diagnostics.report(.yamlNotMap, "\(what) must be a map.", at: node.range)
            return nil
        }
        for range in rejected {
            diagnostics.report(.yamlExpectedScalar, "A key must be a name.", at: range)
        }
        return entries
    }

    private func isEmptyMap(_ node: ConfigNode) -> Bool {
        node.isNull || node.entries(rejecting: { _ in })?.isEmpty == true
    }

    private mutating func reportNotYet(_ entry: ConfigNode.Entry, _ what: String) {
        guard !isEmptyMap(entry.value) else { return }
        diagnostics.report(.configNotSupportedYet, "\(what) not supported yet.", at: entry.keyRange)
    }

    private mutating func bool(_ entry: ConfigNode.Entry) -> Bool? {
        guard let value = entry.value.bool else {
            diagnostics.report(
                .yamlExpectedBool,
                "“\(entry.key)” must be true or false, without quotes.",
                at: entry.value.range
            )
            return nil
        }
        return value
    }
}

extension YamlError {
    /// The problem as a sentence, with its offset in the file.
    fileprivate func place(in yaml: String, _ source: SourceText) -> (problem: String, offset: Int) {
        func offset(_ mark: Mark) -> Int { source.offset(line: mark.line, column: mark.column) }
        switch self {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let prefix = context.map { "\($0.text), " } ?? ""
            return ("The file is not valid YAML: \(prefix)\(problem).", offset(mark))
        case .reader(let problem, let characters, _, _):
            let index = characters.flatMap { yaml.index(yaml.startIndex, offsetBy: $0, limitedBy: yaml.endIndex) }
            let offset = index.map { yaml.utf8.distance(from: yaml.startIndex, to: $0) } ?? 0
            return ("The file is not valid YAML: \(problem).", offset)
        case .duplicatedKeysInMapping(let duplicates, let context):
            return ("A key appears twice: \(duplicates.joined(separator: ", ")).", offset(context.mark))
        default:
            return ("The file is not valid YAML.", 0)
        }
    }
}

// MARK: - Settings

extension ConfigReader {
    /// Options that are always on, because every supported edition has them.
    private static let alwaysOn: Set<String> = [
        "timestamps_iso8601", "versioned_bucket_ids", "fixed_json_extract", "custom_postgres_types",
    ]

    private static let precisions: Set<String> = ["seconds", "milliseconds", "microseconds", "nanoseconds"]

    /// Reads the map `config`.
    ///
    /// - Returns: The edition; `nil` when there is none.
    private mutating func readSettings(_ node: ConfigNode) -> Int? {
        guard !node.isNull, let entries = entries(of: node, what: "“config”") else { return nil }
        var edition: Int?
        for entry in entries {
            let value = entry.value
            switch entry.key {
            case "edition":
                edition = readEdition(value)
            case "storage_version":
                if value.integer == 3 {
                    diagnostics.report(
                        .configNotSupportedYet,
                        "Storage version 3 is not supported yet.",
                        at: value.range
                    )
                } else if value.integer != 2 {
                    diagnostics.report(.configValue, "“storage_version” must be 2.", at: value.range)
                }
            case "timestamp_max_precision":
                if value.string.map(Self.precisions.contains) != true {
                    let choices = "seconds, milliseconds, microseconds or nanoseconds"
                    diagnostics.report(.configPrecision, "The precision must be \(choices).", at: value.range)
                } else {
                    diagnostics.report(
                        .configNotSupportedYet,
                        "“timestamp_max_precision” is not supported yet.",
                        at: entry.keyRange
                    )
                }
            case _ where Self.alwaysOn.contains(entry.key):
                if bool(entry) == false {
                    diagnostics.report(
                        .configNotSupportedYet,
                        "Switching off “\(entry.key)” is not supported yet.",
                        at: value.range
                    )
                }
            case "unstable_sqlite_expression_engine":
                if bool(entry) == true {
                    diagnostics.report(
                        .configNotSupportedYet,
                        "“unstable_sqlite_expression_engine” is not supported yet.",
                        at: value.range
                    )
                }
            default:
                diagnostics.report(.yamlUnknownKey, "Unknown option “\(entry.key)”.", at: entry.keyRange)
            }
        }
        return edition
    }

    private mutating func readEdition(_ value: ConfigNode) -> Int? {
        guard let edition = value.integer, (1...3).contains(edition) else {
            diagnostics.report(.configEdition, "“edition” must be 3 (a number without quotes).", at: value.range)
            return 3
        }
        if edition == 1 {
            diagnostics.report(.configNotSupportedYet, "Edition 1 is not supported yet; write 3.", at: value.range)
        }
        return edition
    }

    private mutating func missingEdition(at range: Range<Int>?, root: ConfigNode) -> Int {
        diagnostics.report(
            .configNotSupportedYet,
            "Configs of edition 1 are not supported yet; add “edition: 3” to “config”.",
            at: range ?? root.range
        )
        return 1
    }
}

// MARK: - Streams

extension ConfigReader {
    private mutating func readStreams(_ entry: ConfigNode.Entry) -> [StreamDefinition]? {
        if isEmptyMap(entry.value) {
            diagnostics.report(.streamsMissing, "“streams” defines no stream.", at: entry.keyRange)
            return nil
        }
        guard let entries = entries(of: entry.value, what: "“streams”") else { return nil }
        var streams: [StreamDefinition] = []
        for entry in entries {
            if let stream = readStream(entry) { streams.append(stream) }
        }
        return streams
    }

    private mutating func readStream(_ entry: ConfigNode.Entry) -> StreamDefinition? {
        guard let options = entries(of: entry.value, what: "Stream “\(entry.key)”") else { return nil }
        var stream = StreamDefinition(name: entry.key, nameRange: entry.keyRange)
        stream.acceptsDangerousQueries = entry.value.hasDangerousQueriesTag
        for option in options {
            switch option.key {
            case "query":
                readQuery(option.value, into: &stream)
            case "queries":
                readQueries(option.value, into: &stream)
            case "auto_subscribe":
                stream.isSubscribedByDefault = bool(option) ?? false
            case "priority":
                if let priority = option.value.integer, (0...3).contains(priority) {
                    stream.priority = Int32(priority)
                } else {
                    diagnostics.report(
                        .streamPriority,
                        "“priority” must be a number from 0 (most urgent) to 3.",
                        at: option.value.range
                    )
                }
            case "accept_potentially_dangerous_queries":
                stream.acceptsDangerousQueries = bool(option) ?? false
            case "with":
                reportNotYet(option, "Common table expressions (“with”) are")
            default:
                diagnostics.report(.yamlUnknownKey, "Unknown option “\(option.key)” of a stream.", at: option.keyRange)
            }
        }
        let sources = options.filter { $0.key == "query" || $0.key == "queries" }
        if sources.count != 1 {
            diagnostics.report(
                .streamQueryXorQueries,
                "Stream “\(entry.key)” must have either “query” or “queries”.",
                at: sources.last?.keyRange ?? entry.keyRange
            )
        }
        return stream
    }

    private mutating func readQuery(_ node: ConfigNode, into stream: inout StreamDefinition) {
        guard let text = node.string, let source = node.scalarSource else {
            diagnostics.report(.yamlExpectedScalar, "A query must be a text.", at: node.range)
            return
        }
        stream.queries.append(StreamDefinition.Query(text: text, source: source))
    }

    private mutating func readQueries(_ node: ConfigNode, into stream: inout StreamDefinition) {
        guard let elements = node.elements, !elements.isEmpty else {
            diagnostics.report(.yamlExpectedSequence, "“queries” must be a list of at least one query.", at: node.range)
            return
        }
        for element in elements { readQuery(element, into: &stream) }
    }
}
