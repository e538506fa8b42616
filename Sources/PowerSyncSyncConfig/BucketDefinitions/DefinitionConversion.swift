/// A config with bucket definitions as one with streams that gives clients the same rows
/// (docs/sync-config.md "From definitions to streams").
///
/// ```yaml
/// bucket_definitions:
///   by_user: {parameters: SELECT request.user_id() AS u, data: [SELECT * FROM lists WHERE owner_id = bucket.u]}
/// # becomes
/// config: {edition: 3, timestamps_iso8601: false, fixed_json_extract: false, custom_postgres_types: false}
/// streams:
///   by_user: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = auth.user_id()}
/// ```
///
/// Each parameter query and data query of a definition become a query of its stream. Values are written as before: what the edition of the
/// definitions switched off is switched off by name.
package struct DefinitionConversion: Sendable {
    /// A definition that no stream can take the place of by itself.
    package struct Obstacle: Sendable, Hashable {
        /// The name of the definition; `nil` when it is about the whole config.
        package let definition: String?
        /// Why, and what to do, as sentences.
        package let reason: String
    }

    /// The text of the new config; `nil` when there is an obstacle.
    package let yaml: String?
    /// What has to be written by hand.
    package let obstacles: [Obstacle]
    /// What may differ although everything was converted, as sentences.
    package let notes: [String]

    /// Converts a config.
    ///
    /// - Parameter yaml: A config that can be deployed; one that cannot is an obstacle.
    package init(of yaml: String) {
        var reader = ConfigReader(source: SourceText(yaml))
        let document = reader.read(yaml)
        if let obstacle = Self.obstacle(to: yaml, document) {
            (self.yaml, obstacles, notes) = (nil, [obstacle], [])
            return
        }
        var sources = SQLSources()
        var obstacles: [Obstacle] = []
        var streams: [Stream] = []
        for definition in document.definitions {
            do throws(StreamProposal.Obstacle) {
                streams.append(try Stream(definition, &sources))
            } catch {
                obstacles.append(Obstacle(definition: definition.name, reason: error.reason))
            }
        }
        var notes: [String] = []
        if streams.contains(where: \.hasStar) {
            notes.append(
                "“*” in a stream also has the columns that begin with “_”, which it leaves out in a bucket definition."
            )
        }
        if !document.events.isEmpty {
            notes.append(
                "Event definitions are left out: copy them, but from edition 3 on a WHERE of a payload counts."
            )
        }
        let text = Self.text(document.settings, streams, notes)
        if obstacles.isEmpty, let problem = SyncConfig.parse(text).diagnostics.first(where: { $0.severity == .error }) {
            let stream = streams.first { problem.excerpt.contains($0.name) }
            obstacles.append(Obstacle(definition: stream?.name, reason: "Its stream has an error: \(problem.message)"))
        }
        self.obstacles = obstacles
        self.yaml = obstacles.isEmpty ? text : nil
        self.notes = notes
    }

    /// What keeps a whole config from being converted.
    private static func obstacle(to yaml: String, _ document: ConfigDocument) -> Obstacle? {
        let reason: String?
        if let error = SyncConfig.parse(yaml).diagnostics.first(where: { $0.severity == .error }) {
            reason = "The config cannot be deployed: line \(error.line): \(error.message)"
        } else if document.definitions.isEmpty {
            reason = "The config has no bucket definitions."
        } else if !document.streams.isEmpty {
            reason = """
                The config has streams of edition 2, too, where NULL means something else than in edition 3; convert the bucket \
                definitions in a file of their own.
                """
        } else {
            reason = nil
        }
        return reason.map { Obstacle(definition: nil, reason: $0) }
    }

    // MARK: Text

    private static func text(_ settings: ConfigSettings, _ streams: [Stream], _ notes: [String]) -> String {
        var lines = ["# Made by powersync convert from bucket definitions. Comments of that file are not here."]
        lines += notes.map { "# \($0)" } + ["config:", "  edition: 3"]
        // Editions 2 and 3 write values in the same way.
        for option in [ConfigSettings.Option.timestampsISO8601, .fixedJSONExtract, .declaredTypesAsJSON]
        where !settings.isOn(option) {
            lines.append("  \(option.rawValue): false")
        }
        if let precision = settings.timestampMaximumPrecision {
            lines.append("  timestamp_max_precision: \(precision.rawValue)")
        }
        lines += ["", "streams:"]
        for stream in streams { lines += stream.lines + [""] }
        if streams.isEmpty { lines[lines.count - 1] = "streams: {}" }
        return lines.dropLast(streams.isEmpty ? 0 : 1).joined(separator: "\n") + "\n"
    }

    /// A stream in place of a definition.
    private struct Stream {
        var name: String
        var priority: Int32?
        var acceptsDangerousQueries: Bool
        var queries: [String] = []
        var hasStar: Bool { queries.contains { $0.contains("*") } }

        /// - Throws: What no stream can take the place of.
        init(_ definition: LegacyDefinition, _ sources: inout SQLSources) throws(StreamProposal.Obstacle) {
            name = definition.name
            priority = definition.priority
            acceptsDangerousQueries = definition.acceptsDangerousQueries
            let parameters = definition.parameters.map { queries in
                queries.map { sources.add($0.text, at: $0.source) as SQLSources.Text? }
            }
            let data = definition.data.map { sources.add($0.text, at: $0.source) }
            var priorities: Set<Int32?> = []
            for parameter in parameters ?? [nil] {
                let proposal = try StreamProposal(parameters: parameter, in: sources)
                priorities.insert(proposal.priority)
                for text in data {
                    let query = try proposal.query(for: text)
                    if !queries.contains(query) { queries.append(query) }
                }
            }
            guard priorities.count < 2 else { throw .priorities }
            if let given = priorities.first ?? nil { priority = given }
        }

        var lines: [String] {
            var lines = ["  \(StreamProposal.quoted(name)):", "    auto_subscribe: true"]
            if let priority { lines.append("    priority: \(priority)") }
            if acceptsDangerousQueries { lines.append("    accept_potentially_dangerous_queries: true") }
            if queries.count == 1 {
                lines.append("    query: \(Self.scalar(queries[0]))")
            } else if queries.isEmpty {
                lines.append("    queries: []")
            } else {
                lines += ["    queries:"] + queries.map { "      - \(Self.scalar($0))" }
            }
            return lines
        }

        /// A query as a value of YAML: as it is, if nothing in it means something there.
        private static func scalar(_ query: String) -> String {
            let isPlain =
                !query.contains(": ") && !query.contains(" #") && !query.hasSuffix(":") && query.first?.isLetter == true
            return isPlain ? query : StreamProposal.quoted(query)
        }
    }
}
