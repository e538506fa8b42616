import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Sync configs: deploying, checking, showing.
extension AdminRoutes {
    /// Adds the routes below `/api/sync-rules/v1`.
    func addSyncConfigRoutes(to router: Router<ServiceRequestContext>) {
        router.post("api/sync-rules/v1/deploy") { request, _ in
            try await answer(request) { request in
                let isDryRun = try isDryRun(request)
                // Before the body: a client that is told to change a file need not send a config.
                if isConfigured, !isDryRun { throw ErrorEnvelope.syncConfigIsConfigured }
                let text = try await syncConfigText(of: request)
                if isDryRun { return Response(data: try await changes(try await deployer.preview(text).plan)) }
                let deployment = try await deployer.deploy(text)
                let head: JSONObject = [
                    "slot_name": .string(deployment.stream.sourceHandle),
                    "outcome": .string(deployment.outcome.rawValue),
                ]
                return Response(data: JSONObject(members: head.members + (try await changes(deployment.plan)).members))
            }
        }
        router.post("api/sync-rules/v1/validate") { request, _ in
            try await answer(request) { request in
                Response(pretty: validity(of: try await syncConfigText(of: request)))
            }
        }
        router.post("api/sync-rules/v1/reprocess") { request, _ in
            try await answer(request) { request in
                let names = try await parameters(of: request).members.members.map(\.name)
                guard names.isEmpty else {
                    throw ErrorEnvelope.validationFailed(names.map { "\($0) is not a parameter of this route" })
                }
                return Response(data: ["slot_name": .string(try await deployer.reprocess().sourceHandle)])
            }
        }
        router.get("api/sync-rules/v1/current") { request, _ in
            try await answer(request) { _ in Response(pretty: ["data": .object(try await current())]) }
        }
    }

    /// Whether a request only asks what would be done: `?dry_run=true`.
    private func isDryRun(_ request: Request) throws -> Bool {
        switch request.uri.queryParameters.get("dry_run") {
        case nil, "false": false
        case "", "true": true
        case .some: throw ErrorEnvelope.validationFailed(["dry_run is true or false"])
        }
    }

    /// What a deployment does: `{"streams":[{"name":…,"change":"kept","reason":…},{…,"change":"read","tables":[…],"estimated_rows":{…}}]}`,
    /// with the reason in `everything_is_read` when nothing is kept.
    ///
    /// `estimated_rows` has about how many rows there are of each table that is read, by its name in the source, as far as the source knows.
    func changes(_ plan: DeploymentPlan) async throws -> JSONObject {
        let read = plan.streams.flatMap(\.tables)
        let rows =
            read.isEmpty
            ? [:]
            : try await source.knownRows { [connection] name in
                read.contains { $0.matches(name, defaultSchema: connection.defaultSchema) }
            }
        let streams = plan.streams.map { change in
            var entry: JSONObject = [
                "name": .string(change.stream), "change": .string(change.outcome.rawValue),
                "reason": .string(change.reason),
            ]
            if !change.tables.isEmpty { entry["tables"] = .array(change.tables.map { .string($0.description) }) }
            let known = rows.filter { name, _ in
                change.tables.contains { $0.matches(name, defaultSchema: connection.defaultSchema) }
            }
            if !known.isEmpty {
                let counts = known.sorted { $0.key.description < $1.key.description }
                    .map { JSONObject.Member(name: $0.key.description, value: .integer($0.value)) }
                entry["estimated_rows"] = .object(JSONObject(members: counts))
            }
            return ExactJSON.object(entry)
        }
        var changes: JSONObject = ["streams": .array(streams)]
        if let reason = plan.everythingIsRead { changes["everything_is_read"] = .string(reason.rawValue) }
        return changes
    }

    /// The sync config in a body: YAML as it is, or JSON with the text in `content`.
    private func syncConfigText(of request: Request) async throws -> String {
        guard RequestParameters.mediaType(of: request) == "application/yaml" else {
            return try await parameters(of: request).requiredString("content")
        }
        var request = request
        let body = try await RequestParameters.rawBody(
            of: &request,
            limit: ServiceRoutes.bodyLimit,
            RequestParameters.bodyTimeLimit,
            clock
        )
        guard let text = String(bytes: body.readableBytesView, encoding: .utf8) else {
            throw ErrorEnvelope.validationFailed(["the body is not UTF-8"])
        }
        return text
    }

    private func current() async throws -> JSONObject {
        let streams = try await storage.streams()
        guard let active = streams.last(where: { $0.state.isServed }) else {
            throw SyncConfigDeploymentError.noActiveConfig
        }
        func entry(_ stream: ReplicationStream) -> ExactJSON {
            let head: JSONObject = ["slot_name": .string(stream.sourceHandle), "content": .string(stream.content)]
            return .object(JSONObject(members: head.members + validity(of: stream.content).members))
        }
        let next = streams.last { $0.state == .processing } ?? active.deploying
        return ["current": entry(active), "next": next.map(entry) ?? .null]
    }

    /// Whether a text can be deployed, and what it says: `{"valid":true,…}` or `{"valid":false,"errors":[…]}`.
    private func validity(of text: String) -> JSONObject {
        let result = SyncConfig.parse(text, patternRefusal: connection.patternRefusal)
        guard let plan = result.plan else {
            let errors = result.diagnostics.filter { $0.severity == .error }
            return ["valid": .bool(false), "errors": .array(errors.map { .string($0.description) })]
        }
        return [
            "valid": .bool(true),
            "bucket_definitions": .array(plan.buckets.map { .object(["name": .string($0.name)]) }),
            "source_tables": .array(plan.tablePatterns.map { .object(sourceTable($0)) }),
            "data_tables": .object(dataTables(of: plan)),
        ]
    }

    private func sourceTable(_ pattern: TablePattern) -> JSONObject {
        var entry: JSONObject = [
            "schema": .string(pattern.schema ?? connection.defaultSchema), "pattern": .string(pattern.table),
            "wildcard": .bool(pattern.isWildcard),
        ]
        if !pattern.isWildcard { entry["table"] = .string(pattern.table) }
        return entry
    }

    /// The tables on clients, each with the tables of the source that its rows come from.
    private func dataTables(of plan: SyncPlan) -> JSONObject {
        var tables = JSONObject()
        for evaluator in plan.evaluators {
            let name = evaluator.outputName ?? evaluator.table.table
            let pattern = ExactJSON.string(evaluator.table.table)
            guard case .array(let patterns) = tables[name] else {
                tables[name] = .array([pattern])
                continue
            }
            if !patterns.contains(pattern) { tables[name] = .array(patterns + [pattern]) }
        }
        return tables
    }
}

extension ErrorEnvelope {
    /// 422: the service configuration has the sync config.
    static let syncConfigIsConfigured = ErrorEnvelope(
        code: .configRoutesDisabled,
        description: "Sync config API disabled",
        name: "ServiceError",
        details: "Update sync config in the service configuration"
    )

    /// A sync config that is not deployed.
    init(_ error: SyncConfigDeploymentError) {
        switch error {
        case .rejected(let findings):
            self.init(
                code: .invalidSyncConfig,
                description: "Sync config could not be parsed",
                name: "SyncRulesError",
                details: findings.map(\.description).joined(separator: "\n")
            )
        case .noActiveConfig:
            self.init(code: .noActiveConfig, description: "No active sync config", name: "ServiceError")
        case .otherInProgress:
            self.init(
                code: .deployConflict,
                description: "Another sync config is being deployed",
                name: "ServiceError",
                details: error.description
            )
        }
    }
}

extension Response {
    /// A successful response for people: indented, with a newline at its end.
    fileprivate init(pretty object: JSONObject) {
        self.init(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: ExactJSON.object(object).indentedText() + "\n"))
        )
    }
}

extension ExactJSON {
    /// The value as JSON, each member and element on a line of its own, two spaces for each level.
    fileprivate func indentedText(level: Int = 0) -> String {
        let indent = String(repeating: "  ", count: level + 1)
        let end = "\n" + String(repeating: "  ", count: level)
        switch self {
        case .object(let object) where !object.members.isEmpty:
            let lines = object.members.map { member in
                "\(indent)\(ExactJSON.string(member.name).text): \(member.value.indentedText(level: level + 1))"
            }
            return "{\n" + lines.joined(separator: ",\n") + end + "}"
        case .array(let values) where !values.isEmpty:
            let lines = values.map { indent + $0.indentedText(level: level + 1) }
            return "[\n" + lines.joined(separator: ",\n") + end + "]"
        default: return text
        }
    }
}
