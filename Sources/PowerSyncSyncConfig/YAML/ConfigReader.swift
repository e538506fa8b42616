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
    /// The most nodes that a document may have, with aliases counted wherever they are used.
    static let maximumNodes = 100_000
    /// The most bytes that the texts of a document may have together, counted likewise: 4 MiB.
    ///
    /// For each byte of a text its place in the file is kept.
    static let maximumTextBytes = 4 << 20

    /// Findings so far.
    var diagnostics: DiagnosticCollector

    /// Creates a reader.
    init(source: SourceText) {
        diagnostics = DiagnosticCollector(source: source)
    }

    private static let sections = ["config", "streams", "with", "bucket_definitions", "event_definitions"]

    /// What a config says, as far as it could be read.
    mutating func read(_ yaml: String) -> ConfigDocument {
        var document = ConfigDocument()
        guard let root = parse(yaml, whenEmpty: "The config is empty; it needs “config” and “streams”.") else {
            return document
        }
        guard let entries = entries(of: root, what: "The config", code: .yamlNotMap) else { return document }
        var sections: [String: ConfigNode.Entry] = [:]
        for entry in entries {
            if !Self.sections.contains(entry.key) {
                reportUnknownKey(entry, of: "a config", among: Self.sections)
            } else if entry.value.isNull {
                diagnostics.report(
                    .yamlNullSection,
                    "The section “\(entry.key)” is empty.",
                    hint: "Leave it out, or write {}.",
                    at: entry.keyRange
                )
            } else {
                sections[entry.key] = entry
            }
        }
        // Edition 1, that of a config without one, has no streams: everything else is read as the edition that is meant.
        let meant = sections["streams"] == nil ? 1 : sections["bucket_definitions"] == nil ? 3 : 2
        document.settings.edition = meant
        var given: Int?
        if let section = sections["config"] {
            (document.settings, given) = readSettings(section.value, editionInPlaceOf1: meant)
        }
        if let section = sections["streams"], given ?? 1 == 1 {
            reportEdition(section, isMissing: given == nil, meant, hasConfig: entries.contains { $0.key == "config" })
        }
        let edition = document.settings.edition
        if let section = sections["with"] {
            if edition < 3 {
                diagnostics.report(.cteEdition, "“with” needs edition 3.", at: section.keyRange)
            } else {
                document.commonTables = readCommonTables(section)
            }
        }
        if let section = sections["streams"] { document.streams = readStreams(section, edition: edition) }
        if let section = sections["bucket_definitions"] {
            if edition == 3 {
                diagnostics.report(
                    .streamsLegacyInEdition3,
                    "“bucket_definitions” are not part of edition 3.",
                    hint: "Write “streams”.",
                    at: section.keyRange
                )
            } else {
                document.definitions = readDefinitions(section, streams: document.streams)
            }
        }
        if let section = sections["event_definitions"] { document.events = readEvents(section) }
        if sections["streams"] == nil, edition == 3 || sections["bucket_definitions"] == nil {
            diagnostics.report(
                .streamsMissing,
                "The config has no “streams”.",
                hint: edition == 3 ? nil : "Editions 1 and 2 may have “bucket_definitions” instead.",
                at: root.range
            )
        }
        return document
    }
}

extension ConfigReader {
    /// Reports streams in edition 1, once for all of them: mostly a line is missing.
    private mutating func reportEdition(
        _ section: ConfigNode.Entry,
        isMissing: Bool,
        _ meant: Int,
        hasConfig: Bool
    ) {
        let edition = "edition: \(meant)"
        let hint =
            switch (isMissing, hasConfig) {
            case (true, false): "Add the line “config: {\(edition)}” before “\(section.key)”."
            case (true, true): "Add “\(edition)” to “config”."
            case (false, _): "Set “\(edition)”."
            }
        diagnostics.report(
            .streamsEdition,
            isMissing
                ? "The edition is missing, and without it is 1, which has no streams."
                : "Streams are not part of edition 1.",
            hint: meant == 2 ? "\(hint) Edition 3 has no “bucket_definitions”." : hint,
            at: section.keyRange
        )
    }
}

// MARK: - YAML

extension ConfigReader {
    /// The document as a tree; `nil` when there is none, which is reported.
    ///
    /// - Parameters:
    ///   - yaml: The text of the file.
    ///   - problem: What to say when the file is empty.
    /// - Returns: The root.
    mutating func parse(_ yaml: String, whenEmpty problem: String) -> ConfigNode? {
        let source = diagnostics.source
        let yaml = Self.withoutDirective(yaml)
        do {
            guard let root = try Parser(yaml: yaml, encoding: .utf8).singleRoot() else {
                diagnostics.report(.yamlNotMap, problem, at: 0..<0)
                return nil
            }
            let node = ConfigNode(root, in: source)
            guard !node.exceeds(nodes: Self.maximumNodes, textBytes: Self.maximumTextBytes) else {
                diagnostics.report(
                    .yamlExpansion,
                    """
                    The file has more than \(Self.maximumNodes) nodes, or texts of more than \(Self.maximumTextBytes) bytes \
                    together, with aliases counted wherever they are used.
                    """,
                    at: node.range
                )
                return nil
            }
            return node
        } catch let error as YamlError {
            let (problem, offset) = error.place(in: yaml, source)
            diagnostics.report(.yamlSyntax, problem, at: offset..<min(offset + 1, source.bytes.count))
        } catch {
            diagnostics.report(.yamlSyntax, "The file cannot be read: \(error).", at: 0..<0)
        }
        return nil
    }

    /// The text without a byte order mark, and with a line `%YAML …` as comment: neither means anything.
    private static func withoutDirective(_ yaml: String) -> String {
        var bytes = Array(yaml.utf8)
        if bytes.starts(with: SourceText.byteOrderMark) { bytes.removeFirst(SourceText.byteOrderMark.count) }
        if bytes.starts(with: "%YAML".utf8) { bytes[0] = UInt8(ascii: "#") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The entries of a map.
    mutating func entries(
        of node: ConfigNode,
        what: String,
        code: DiagnosticCode = .yamlExpectedMap
    ) -> [ConfigNode.Entry]? {
        var rejected: [Range<Int>] = []
        guard let entries = node.entries(rejecting: { rejected.append($0) }) else {
            diagnostics.report(code, "\(what) must be a map.", at: node.range)
            return nil
        }
        for range in rejected {
            diagnostics.report(.yamlExpectedScalar, "A key must be a name.", at: range)
        }
        return entries
    }

    /// The entries of a map whose keys are names that the author chooses.
    mutating func namedEntries(of node: ConfigNode, what: String) -> [ConfigNode.Entry]? {
        entries(of: node, what: what)?.filter { entry in
            if entry.key.isEmpty, !entry.isKeyNonText {
                diagnostics.report(.streamEmptyName, "A name is empty.", at: entry.keyRange)
                return false
            }
            if entry.isKeyNonText {
                diagnostics.report(
                    .yamlExpectedScalar,
                    "A name must be a text, and “\(entry.key)” is none in YAML.",
                    hint: "Write it in quotes.",
                    at: entry.keyRange
                )
                return false
            }
            return true
        }
    }

    /// Reports a key that a map does not have.
    mutating func reportUnknownKey(_ entry: ConfigNode.Entry, of what: String, among known: [String]) {
        diagnostics.report(
            .yamlUnknownKey,
            entry.key == "<<" ? "Merge keys are not supported." : "Unknown key “\(entry.key)” of \(what).",
            hint: NearName.hint(for: entry.key, among: known) ?? "There are \(known.joined(separator: ", ")).",
            at: entry.keyRange
        )
    }

    /// A boolean.
    mutating func bool(_ entry: ConfigNode.Entry) -> Bool? {
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

    /// The priority of a stream or definition.
    mutating func priority(_ entry: ConfigNode.Entry) -> Int32? {
        guard let priority = entry.value.integer, (0...3).contains(priority) else {
            diagnostics.report(
                .streamPriority,
                "“priority” must be a number from 0 (most urgent) to 3.",
                at: entry.value.range
            )
            return nil
        }
        return Int32(priority)
    }

    /// A query.
    mutating func query(_ node: ConfigNode) -> ConfigQuery? {
        guard let text = node.string, let source = node.scalarSource else {
            diagnostics.report(.yamlExpectedScalar, "A query must be a text.", at: node.range)
            return nil
        }
        return ConfigQuery(text: text, source: source)
    }

    /// A list of queries.
    mutating func queries(_ entry: ConfigNode.Entry) -> [ConfigQuery] {
        guard let elements = entry.value.elements else {
            diagnostics.report(
                .yamlExpectedSequence,
                "“\(entry.key)” must be a list of queries.",
                at: entry.value.range
            )
            return []
        }
        return elements.compactMap { query($0) }
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
