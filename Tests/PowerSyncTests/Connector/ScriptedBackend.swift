import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncTesting
import PowerSyncUpload

@testable import PowerSyncClient

/// A backend on a loopback port that answers uploads as a test says, and a database whose writes go there.
final class ScriptedBackend: Sendable {
    typealias Answer = @Sendable (_ upload: UploadRequest) throws -> LoopbackServer.Response

    private struct State {
        var answers: [Answer] = []
        var uploads: [UploadRequest] = []
    }

    let database: any PowerSyncDatabaseProtocol
    let clock = TestClock()
    private let state = NIOLockedValueBox(State())
    private let server = NIOLockedValueBox<LoopbackServer?>(nil)

    init() {
        database = ScriptedTransport().makeDatabase(
            schema: Schema(
                tables: [
                    Table(
                        name: "lists",
                        columns: [.text("name"), .real("score"), .integer("size")],
                        trackMetadata: true,
                        trackPreviousValues: TrackPreviousValuesOptions()
                    )
                ]
            )
        )
    }

    /// Runs a test against a server.
    static func run(_ body: (ScriptedBackend) async throws -> Void) async throws {
        let backend = ScriptedBackend()
        try await LoopbackServer.run { request in
            backend.answer(request)
        } _: { server in
            backend.server.withLockedValue { $0 = server }
            try await body(backend)
            try await backend.database.close()
        }
    }

    private func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        do {
            let upload = try UploadRequest(json: request.body)
            let answer = state.withLockedValue { state -> Answer? in
                state.uploads.append(upload)
                return state.answers.isEmpty ? nil : state.answers.removeFirst()
            }
            return try answer?(upload) ?? Self.applied(upload.entries.last?.operationID)
        } catch {
            return LoopbackServer.Response(status: .badRequest, chunks: [ByteBuffer(string: "\(error)")])
        }
    }

    /// What was uploaded so far.
    var uploads: [UploadRequest] { state.withLockedValue { $0.uploads } }
    /// The requests so far.
    var requests: [LoopbackServer.Request] { server.withLockedValue { $0?.received ?? [] } }

    /// Says what the next uploads are answered; those after them are applied.
    func answer(_ answers: Answer...) {
        state.withLockedValue { $0.answers = answers }
    }

    /// An answer that says how far the upload was applied.
    static func applied(
        _ through: Int64?,
        rejecting rejections: [EntryRejection] = [],
        writeCheckpoint: String? = nil
    ) -> LoopbackServer.Response {
        body(UploadResponse(appliedThrough: through, rejections: rejections, writeCheckpoint: writeCheckpoint).json)
    }

    /// An answer with a body.
    static func body(_ bytes: some Sequence<UInt8>, _ status: HTTPResponseStatus = .ok) -> LoopbackServer.Response {
        LoopbackServer.Response(
            status: status,
            headers: ["Content-Type": "application/json"],
            chunks: [ByteBuffer(bytes: bytes)]
        )
    }

    /// An answer with a status alone.
    static func status(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:]) -> LoopbackServer.Response {
        LoopbackServer.Response(status: status, headers: headers)
    }

    /// A connector to the backend, with the token `t1`.
    func connector(
        _ options: HTTPBackendOptions = HTTPBackendOptions(),
        authorization: (@Sendable (_ refused: String?) async throws -> String?)? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        credentials: @escaping @Sendable () async throws -> PowerSyncCredentials? = {
            PowerSyncCredentials(endpoint: "https://sync.test", token: "t1")
        }
    ) throws -> HTTPBackendConnector {
        var options = options
        options.httpClient = HTTPStack.current.client
        return try HTTPBackendConnector(
            uploadURL: (server.withLockedValue { $0?.url } ?? "") + "/api/upload?v=1",
            options: options,
            authorization: authorization,
            clock: clock,
            now: now,
            credentials: credentials
        )
    }

    /// Writes rows, each argument in a transaction of its own.
    func insert(_ transactions: [String]...) async throws {
        for ids in transactions {
            try await database.writeTransaction { transaction in
                for id in ids {
                    try transaction.execute(
                        sql: "INSERT INTO lists(id, name) VALUES (?, ?)",
                        parameters: [id, "n \(id)"]
                    )
                }
            }
        }
    }

    /// The ids of the rows whose writes wait in the queue.
    func waiting() async throws -> [String] {
        try await database.getCrudBatch(limit: 100_000)?.crud.map(\.id) ?? []
    }
}
