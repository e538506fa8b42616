import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import NIOConcurrencyHelpers
import NIOCore
import PowerSync
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncUpload
import TestSupport
import Testing

/// The client's connector and the backend's routes, over a loopback port that loses requests and answers.
@Suite(.timeLimit(.minutes(1))) struct ClientAndBackendTests {
    /// What happens to a request on its way.
    private enum Fault: CaseIterable {
        case none, lostRequest, lostAnswer, garbage, half, twice, killed
    }

    /// Decides about faults, the same for the same seed.
    private final class Faults: Sendable {
        private let generator: NIOLockedValueBox<SeededGenerator>
        /// Whether the next commits fail.
        let isKilled = NIOLockedValueBox(false)

        init(seed: UInt64) {
            generator = NIOLockedValueBox(SeededGenerator(seed: seed))
        }

        func next() -> Fault {
            generator.withLockedValue {
                $0.number(below: 2) == 0 ? .none : Fault.allCases[$0.number(below: Fault.allCases.count)]
            }
        }

        func number(below limit: Int) -> Int { generator.withLockedValue { $0.number(below: limit) } }
    }

    private struct Killed: Error {}

    /// A server with faults in front of the routes.
    private static func server(
        _ scenario: UploadScenario,
        _ signer: SyncTokenSigner,
        _ faults: Faults,
        _ body: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws {
        let router = Router()
        router.post("upload") { request, context -> Response in
            guard let user = try? await signer.verify(authorization: request.headers[.authorization]) else {
                throw HTTPError(.unauthorized)
            }
            var request = request
            var upload = try UploadRequest(json: Array(buffer: try await request.collectBody(upTo: 1 << 20)))
            func answer(_ response: UploadResponse) -> Response {
                Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(bytes: response.json)))
            }
            let fault = faults.next()
            switch fault {
            case .lostRequest: throw HTTPError(.badGateway)
            case .half: upload.entries = Array(upload.entries.prefix(1 + faults.number(below: upload.entries.count)))
            case .killed: faults.isKilled.withLockedValue { $0 = true }
            case .none, .lostAnswer, .garbage, .twice: break
            }
            defer { faults.isKilled.withLockedValue { $0 = false } }
            let response = try await scenario.applier.apply(upload, for: user)
            switch fault {
            case .lostAnswer: throw HTTPError(.gatewayTimeout)
            case .garbage: return Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "<html>")))
            case .twice: return answer(try await scenario.applier.apply(upload, for: user))
            case .none, .half, .killed, .lostRequest: return answer(response)
            }
        }
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in continuation.yield(channel.localAddress?.port ?? 0) }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                for await port in ports { return try await body("http://127.0.0.1:\(port)/upload") }
            }
            // The server only ends when it is cancelled.
            try await group.next()
            group.cancelAll()
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func everythingArrivesOnceWhateverIsLost(seed: UInt64) async throws {
        print("seed \(seed)")
        let faults = Faults(seed: seed)
        let scenario = try UploadScenario { _, _ in
            if faults.isKilled.withLockedValue(\.self), faults.number(below: 3) == 0 { throw Killed() }
            return .apply
        }
        let signer = SyncTokenSigner(key: .es256(id: "k"), audience: "sync")
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("owner_id"), .text("name")])),
            dbFilename: scenario.folder.path("client.db"),
            logger: DefaultLogger(minSeverity: .fault)
        )
        // Each insert happens once on each side: the log of the backend tells.
        for transaction in 0..<15 {
            let count = 1 + faults.number(below: 4)
            try await database.writeTransaction { context in
                for row in 0..<count {
                    try context.execute(
                        sql: "INSERT INTO lists(id, name) VALUES (?, 'n')",
                        parameters: ["\(transaction)-\(row)"]
                    )
                }
            }
            if transaction % 4 == 3 {
                try await database.execute("UPDATE lists SET name = name || '!' WHERE id LIKE '\(transaction - 1)-%'")
            }
        }
        try await Self.server(scenario, signer, faults) { url in
            var options = HTTPBackendOptions()
            options.maximumEntries = 6
            let connector = try HTTPBackendConnector(uploadURL: url, options: options) {
                PowerSyncCredentials(endpoint: "http://127.0.0.1", token: try signer.token(userID: "anna").text)
            }
            while try await database.getUploadQueueStats().count > 0 {
                // What the upload loop does: again after an error.
                do { try await connector.uploadData(database: database) } catch is HTTPBackendError {}
            }
        }
        let sql = "SELECT id || ' ' || name FROM lists ORDER BY id"
        let here = try await database.getAll(sql) { try $0.getString(index: 0) }
        let there = try await scenario.database.read { db in try String.fetchAll(db, sql: sql) }
        #expect(here == there)
        let log = try await scenario.log()
        #expect(log.count == Set(log).count, "\(log)")
        try await database.close()
    }
}
