import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// What operators ask first: what is replicated, how far it is, and what is wrong.
extension AdminRoutes {
    /// A checkpoint that is older than this, with something new in the source, is a warning: 5 minutes, in seconds.
    private static let slowLimit = 300.0
    /// The same as an error: 15 minutes, in seconds.
    private static let stuckLimit = 900.0

    /// What was found out about the source.
    private struct SourceState {
        /// Where it is; `nil` when it does not answer.
        var head: SourcePosition?
        /// What sync configs are checked against.
        var schema: SourceSchema?
        /// Why it does not answer.
        var error: Finding?
    }

    /// The answer to `/api/admin/v1/diagnostics`.
    func diagnostics(_ parameters: RequestParameters) async throws -> JSONObject {
        try await diagnostics(includesContent: try parameters.flag("sync_rules_content"), includesService: true)
    }

    /// What is replicated, and what is wrong.
    ///
    /// When the storage cannot be read, `storage` says so, and what it would tell is missing.
    ///
    /// - Parameters:
    ///   - includesContent: With the texts of sync configs.
    ///   - includesService: With a ``ServiceSnapshot``.
    /// - Returns: The `data` of the answer.
    /// - Throws: `CancellationError`.
    func diagnostics(includesContent: Bool, includesService: Bool) async throws -> JSONObject {
        let state = try await sourceState()
        var errors: [ExactJSON] = []
        if let error = state.error { errors.append(Self.entry(error)) }
        if let failure = failure() { errors.append(Self.entry(failure.finding, at: failure.date)) }
        var data: JSONObject = [
            "connections": .array([
                .object([
                    "id": .string(connection.id), EstablishedName.sourceURI: .string(connection.uri),
                    "connected": .bool(state.error == nil), "errors": .array(errors),
                ])
            ])
        ]
        do {
            let streams = try await storage.streams()
            let active = streams.last { $0.state.isServed }
            if let active { data["active_sync_rules"] = .object(try await status(of: active, state, includesContent)) }
            if let next = streams.last(where: { $0.state == .processing }) ?? active?.deploying {
                var deploying = try await status(of: next, state, includesContent)
                // Of a stream of its own, everything is read.
                if next.id == active?.id {
                    deploying["streams"] = try await changes(DeploymentPlan(next.plan, among: streams))["streams"]
                }
                data["deploying_sync_rules"] = .object(deploying)
            }
            if includesService { data["service"] = .object(try await usage()) }
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            var finding = Finding(.storage, error)
            finding.message = "The bucket storage cannot be read: \(finding.message)"
            data["storage"] = .object(["errors": .array([Self.entry(finding)])])
        }
        if let rejection = deployer.rejection {
            var entry = JSONObject()
            if includesContent { entry["content"] = .string(rejection.content) }
            entry["errors"] = .array(rejection.findings.map { Self.entry($0, at: rejection.date) })
            data["rejected_sync_rules"] = .object(entry)
        }
        return data
    }

    /// The answer to `/api/admin/v1/validate`.
    func validationStatus(of text: String) async throws -> JSONObject {
        let state = try await sourceState()
        let result = SyncConfig.parse(text, schema: state.schema, patternRefusal: connection.patternRefusal)
        var findings = result.diagnostics.map { Self.entry($0) }
        guard var plan = result.plan else { return ["connections": .array([]), "errors": .array(findings)] }
        plan.defaultSchema = connection.defaultSchema
        let tables = try await checkedTables(of: plan)
        let entry: JSONObject = [
            "id": .string(connection.id), "tag": .string(connection.tag), "slot_name": .string(""),
            "initial_replication_done": .bool(false), "tables": .array(tables.entries),
        ]
        findings += tables.errors
        let unreachable = state.error.map { [Self.entry($0)] } ?? []
        return ["connections": .array([.object(entry)]), "errors": .array(unreachable + findings)]
    }

    private func sourceState() async throws -> SourceState {
        do {
            let schema = try await describedTables().map { SourceSchema($0, defaultSchema: connection.defaultSchema) }
            return SourceState(head: try await source.head(), schema: schema)
        } catch let error as CancellationError {
            throw error
        } catch {
            return SourceState(error: Finding(.source, error))
        }
    }

    // MARK: Streams

    private func status(
        of stream: ReplicationStream,
        _ state: SourceState,
        _ includesContent: Bool
    ) async throws -> JSONObject {
        let progress = try await storage.progress(of: stream.id)
        var entry: JSONObject = [
            "id": .string(connection.id), "tag": .string(connection.tag), "slot_name": .string(stream.sourceHandle),
            "initial_replication_done": .bool(stream.isSnapshotDone),
        ]
        if let position = progress.resumePosition { entry["last_lsn"] = .string(position.lsn.rawValue) }
        if let date = progress.checkpointedAt { entry["last_checkpoint_ts"] = .string(date.iso8601) }
        if let lag = lag(of: progress, state) { entry["replication_lag_bytes"] = .integer(lag) }
        let tables = try await checkedTables(of: stream.plan)
        entry["tables"] = .array(tables.entries)
        var errors = SyncConfig.parse(stream.content, schema: state.schema).diagnostics.map { Self.entry($0) }
        errors += tables.errors
        if let retention = try await retention(of: stream) {
            if let status = retention.status { entry["wal_status"] = .string(status) }
            if let bytes = retention.safeBytes { entry["safe_wal_size"] = .integer(bytes) }
            if let bytes = retention.maximumBytes { entry["max_slot_wal_keep_size"] = .integer(bytes) }
            if let finding = Self.finding(retention) { errors.append(Self.entry(finding)) }
        }
        if stream.state.isServed { errors += delays(of: stream, progress, state).map { Self.entry($0) } }
        var status = JSONObject()
        if includesContent { status["content"] = .string(stream.content) }
        status["stream_id"] = .integer(stream.id.rawValue)
        status["state"] = .string(stream.state.rawValue)
        if let label = stream.versionLabel { status["version_label"] = .string(label) }
        status["connections"] = .array([.object(entry)])
        status["errors"] = .array(errors)
        return status
    }

    private func lag(of progress: ReplicationStreamProgress, _ state: SourceState) -> Int64? {
        guard let head = state.head, let position = progress.resumePosition, position.history == head.history else {
            return nil
        }
        return source.described?.logSize(from: position.lsn, to: head.lsn)
    }

    /// What is late.
    ///
    /// A source in which nothing happens makes no checkpoints, and nothing is wrong with that.
    private func delays(
        of stream: ReplicationStream,
        _ progress: ReplicationStreamProgress,
        _ state: SourceState
    ) -> [Finding] {
        if stream.state == .errored {
            return [
                Finding(
                    .error,
                    .source,
                    "The source has lost its history: clients get nothing new until it is copied again"
                )
            ]
        }
        guard let checkpoint = progress.checkpoint else {
            return [Finding(.warning, .source, "No checkpoint found, cannot calculate replication lag")]
        }
        guard let head = state.head, head.lsn > checkpoint.lsn, let date = progress.checkpointedAt else { return [] }
        let age = now().timeIntervalSince(date)
        guard age >= Self.slowLimit else { return [] }
        let message = "No replicated commit in more than \(Int(age))s"
        return [Finding(age >= Self.stuckLimit ? .error : .warning, .source, message)]
    }

    /// What the source keeps of its log; `nil` also when it does not answer, which is told elsewhere.
    private func retention(of stream: ReplicationStream) async throws -> LogRetention? {
        do {
            return try await source.described?.logRetention(for: stream.sourceHandle)
        } catch let error as CancellationError {
            throw error
        } catch {
            return nil
        }
    }

    private static func finding(_ retention: LogRetention) -> Finding? {
        guard retention.isRunningOut, let safe = retention.safeBytes, let maximum = retention.maximumBytes else {
            return nil
        }
        return Finding(
            .warning,
            .slots,
            """
            The source keeps at most \(maximum) bytes of its log, and throws away what was not read after \(max(0, safe)) more: raise \
            \(retention.setting ?? "that limit"), or find out why the service is behind
            """
        )
    }

    // MARK: Tables

    /// The tables that a plan reads with what is wrong about each, and what is wrong about the source; none when it
    /// does not answer, which is told elsewhere.
    private func checkedTables(of plan: SyncPlan) async throws -> (entries: [ExactJSON], errors: [ExactJSON]) {
        let descriptors: [SourceTableDescriptor]
        do {
            descriptors = try await source.tables(for: plan)
        } catch let error as CancellationError {
            throw error
        } catch {
            return ([], [])
        }
        let findings: [Finding]
        do {
            findings = try await source.described?.findings(for: plan) ?? []
        } catch let error as CancellationError {
            throw error
        } catch {
            var finding = Finding(.source, error)
            finding.severity = .warning
            finding.message = "The source cannot be checked: \(finding.message)"
            findings = [finding]
        }
        let replicated = Dictionary(descriptors.map { ($0.name, $0.identity.map(\.name)) }) { first, _ in first }
        let found = Dictionary(grouping: findings.filter { $0.place.table != nil }, by: \.place.table)
        let names = Set(replicated.keys).union(findings.compactMap(\.place.table))
            .sorted { ($0.schema, $0.name) < ($1.schema, $1.name) }
        let entries = plan.tablePatterns.flatMap { pattern -> [ExactJSON] in
            let matching = names.filter { pattern.matches($0, defaultSchema: plan.defaultSchema) }
            if matching.isEmpty, !pattern.isWildcard {
                let name = SourceTableName(schema: pattern.schema ?? plan.defaultSchema, name: pattern.table)
                let missing = Self.entry(Finding(.warning, .source, "Table \(name) not found"))
                return [.object(table(name, [], pattern, plan, errors: [missing]))]
            }
            return matching.map { name in
                let errors = (found[name] ?? []).map { Self.entry($0) }
                return .object(table(name, replicated[name] ?? [], pattern, plan, errors: errors))
            }
        }
        return (entries, findings.filter { $0.place.table == nil }.map { Self.entry($0) })
    }

    private func table(
        _ name: SourceTableName,
        _ identity: [String],
        _ pattern: TablePattern,
        _ plan: SyncPlan,
        errors: [ExactJSON]
    ) -> JSONObject {
        var entry: JSONObject = ["schema": .string(name.schema), "name": .string(name.name)]
        if pattern.isWildcard { entry["pattern"] = .string(pattern.table) }
        entry["replication_id"] = .array(identity.map { .string($0) })
        entry["data_queries"] = .bool(plan.evaluators.contains { $0.table == pattern })
        entry["parameter_queries"] = .bool(plan.parameterIndexes.contains { $0.table == pattern })
        entry["errors"] = .array(errors)
        return entry
    }

    // MARK: Certificate

    /// Until when the certificate of the service is valid, and what has to be done about it.
    static func status(of validity: CertificateValidity, at now: Date) -> JSONObject {
        var entry: JSONObject = ["certificate": .string(validity.file), "not_after": .string(validity.endText)]
        if let problem = validity.problem(at: now) {
            let severity: Finding.Severity = validity.state(at: now) == .endsSoon ? .warning : .error
            entry["errors"] = .array([Self.entry(Finding(severity, .certificate, problem))])
        }
        return entry
    }

    // MARK: Findings

    /// The entry of a finding: `{"level": "fatal", "message": "[PSYNC_S1147] …", "code": "PSYNC_S1147", "ts": "…"}`.
    ///
    /// The API knows two levels: what leaves rows out is fatal. `code` is missing where there is none.
    static func entry(_ finding: Finding, at date: Date? = nil) -> ExactJSON {
        .object(members(finding, finding.sentence, at: date))
    }

    private static func members(_ finding: Finding, _ message: String, at date: Date?) -> JSONObject {
        var entry: JSONObject = [
            "level": .string(finding.leavesRowsOut ? "fatal" : "warning"), "message": .string(message),
        ]
        if let code = finding.code { entry["code"] = .string(code.rawValue) }
        if let date { entry["ts"] = .string(date.iso8601) }
        return entry
    }

    /// The same with what is known of a sync config: its message is the line that editors link, and `location` tells
    /// the bytes.
    private static func entry(_ diagnostic: ConfigDiagnostic, at date: Date? = nil) -> ExactJSON {
        var entry = members(Finding(diagnostic, file: ""), diagnostic.description, at: date)
        entry["location"] = .object([
            "start_offset": .integer(Int64(diagnostic.range.lowerBound)),
            "end_offset": .integer(Int64(diagnostic.range.upperBound)),
        ])
        return .object(entry)
    }
}

extension Date {
    /// The time as `2026-11-23T12:00:00.000Z`.
    fileprivate var iso8601: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

extension RequestParameters {
    /// A parameter that is true or false; false when it is missing.
    ///
    /// In the query it is a text.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is something else.
    fileprivate func flag(_ name: String) throws -> Bool {
        switch members[name] {
        case nil, .null, .bool(false), .string("false"): return false
        case .bool(true), .string("true"): return true
        default: throw ErrorEnvelope.validationFailed(["\(name) must be true or false"])
        }
    }
}
