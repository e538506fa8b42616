import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The routes for operators (docs/service.md "The admin API").
///
/// A request passes the queue (429), the token (401), its parameters (400, 413, 415), and then the handler. Each token
/// of the configuration may do everything; clients' tokens are none.
struct AdminRoutes: Sendable {
    /// The connection to the source, as it is shown.
    struct Connection: Sendable {
        /// Its name in the configuration.
        var id = "default"
        /// What sync configs call it.
        var tag = "default"
        /// Where it leads, without secrets.
        var uri: String
        /// The schema of tables that sync configs name without one.
        var defaultSchema: String
        /// Why the source cannot do a pattern of tables.
        var patternRefusal: SyncConfig.PatternRefusal?
    }

    /// An error of replication that no commit has followed.
    struct Failure: Sendable {
        var finding: Finding
        var date: Date
    }

    /// Checks tokens.
    var tokens: AdminTokens
    /// What is asked.
    var storage: any BucketStorage
    /// What is asked, and checked against.
    var source: any ReplicationSource
    /// How the source is shown.
    var connection: Connection
    /// Deploys.
    var deployer: SyncConfigDeployer
    /// Whether the sync config is that of the service configuration, and must be changed there.
    var isConfigured: Bool
    /// The last error of replication, if it is not solved.
    var failure: @Sendable () -> Failure?
    /// Looks at buckets and clients; `nil` for none.
    var looks: SnapshotSource?
    /// What the process does: a ``ServiceSnapshot``.
    var usage: @Sendable () async throws -> JSONObject
    /// Measures how long bodies take.
    var clock: any Clock<Duration>
    /// Tells the time.
    var now: @Sendable () -> Date
    /// Slots, shared with other requests that are not streams.
    var queue: ConcurrencyQueue

    /// Adds all routes.
    func add(to router: Router<ServiceRequestContext>) {
        router.post("api/admin/v1/diagnostics") { request, _ in
            try await answer(request) { Response(data: try await diagnostics(try await parameters(of: $0))) }
        }
        router.post("api/admin/v1/schema") { request, _ in
            try await answer(request) { request in
                _ = try await parameters(of: request)
                return Response(data: try await schema())
            }
        }
        router.post("api/admin/v1/validate") { request, _ in
            try await answer(request) { request in
                let text = try await parameters(of: request).requiredString("sync_rules")
                return Response(data: try await validationStatus(of: text))
            }
        }
        router.post("api/admin/v1/reprocess") { request, _ in
            try await answer(request) { request in
                _ = try await parameters(of: request)
                let slot = ExactJSON.string(try await deployer.reprocess().sourceHandle)
                let entry: JSONObject = [
                    "id": .string(connection.id), "tag": .string(connection.tag), "slot_name": slot,
                ]
                return Response(data: ["connections": .array([.object(entry)])])
            }
        }
        if let looks {
            router.post("api/admin/v1/usage") { request, _ in
                try await answer(request) { request in
                    _ = try await parameters(of: request)
                    return try Response(encoding: try await ServiceUsage(of: looks))
                }
            }
        }
        router.post("api/admin/v1/execute-sql") { request, _ in
            try await answer(request) { request in
                _ = try await parameters(of: request)
                return Response(data: Self.noSQL)
            }
        }
        addSyncConfigRoutes(to: router)
    }

    /// Passes a request through the queue and the check of its token.
    func answer(_ request: Request, _ handler: (Request) async throws -> Response) async throws -> Response {
        try await queue.withSlot {
            try tokens.authorize(request.headers[.authorization])
            return try await handler(request)
        }
    }

    /// Reads the parameters of a request.
    func parameters(
        of request: Request,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) async throws -> RequestParameters {
        var request = request
        return try await RequestParameters(
            &request,
            bodyLimit: ServiceRoutes.bodyLimit,
            timeLimit: RequestParameters.bodyTimeLimit,
            clock: clock,
            halfPairs: halfPairs
        )
    }

    /// The answer of a route that runs SQL on the source, which this service never does.
    private static let noSQL: JSONObject = [
        "success": .bool(false), "results": .object(["columns": .array([]), "rows": .array([])]),
        "error": .string("SQL querying is not enabled"),
    ]

    // MARK: Schema

    /// The tables of the source; `nil` for a source that cannot tell.
    func describedTables() async throws -> [DescribedTable]? {
        try await source.described?.describeTables()
    }

    private func schema() async throws -> JSONObject {
        let tables: [DescribedTable]
        do {
            tables = try await describedTables() ?? []
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ErrorEnvelope.sourceUnavailable("\(error)")
        }
        let schemas = Dictionary(grouping: tables, by: \.name.schema).sorted { $0.key < $1.key }
        let entries = schemas.map { schema, tables -> ExactJSON in
            .object(["name": .string(schema), "tables": .array(tables.map { .object(JSONObject($0)) })])
        }
        return [
            "connections": .array([
                .object([
                    "id": .string(connection.id), "tag": .string(connection.tag), "schemas": .array(entries),
                ])
            ]),
            "defaultConnectionTag": .string(connection.tag),
            "defaultSchema": .string(connection.defaultSchema),
        ]
    }
}

extension JSONObject {
    /// A table as tools expect it.
    fileprivate init(_ table: DescribedTable) {
        let columns = table.columns.map { column -> ExactJSON in
            .object([
                "name": .string(column.name), EstablishedName.clientType: .string(column.clientType),
                "internal_type": .string(column.type), "type": .string(column.type),
                EstablishedName.sourceType: .string(column.type),
            ])
        }
        self = ["name": .string(table.name.name), "columns": .array(columns)]
    }
}

extension ErrorEnvelope {
    /// 503: the source does not answer.
    fileprivate static func sourceUnavailable(_ details: String) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .unavailable,
            status: 503,
            description: "The source does not answer",
            name: "ServiceError",
            details: details
        )
    }
}
