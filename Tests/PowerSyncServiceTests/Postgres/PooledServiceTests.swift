import Foundation
import GRDB
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Services whose storages are behind one pooler, which gives sessions no more while they run, and their clients.
@Suite(.enabled(if: !TestPooler.isUnwanted, "POWERSYNC_NO_PROXIES is set"), .timeLimit(.minutes(3)))
struct PooledServiceTests {
    private typealias Scenario = ServiceScenario

    /// A client of `/sync/stream` that connects again when its stream ends, and remembers every row that it was ever sent.
    private final class Client: Sendable {
        private struct State {
            /// The rows of each bucket by id.
            var buckets: [String: [String: String]] = [:]
            /// What a checkpoint has completed.
            var rows: [String: String] = [:]
            /// Every row that was sent, as `id name`.
            var sent: Set<String> = []
        }

        private let state = NIOLockedValueBox(State())
        private let completed = ChangeSignal()

        var sent: Set<String> { state.withLockedValue { $0.sent } }

        /// Reads until it is cancelled.
        func run(_ scenario: ServiceScenario) async throws {
            while !Task.isCancelled {
                state.withLockedValue { $0.buckets = [:] }
                guard var reader = try? await scenario.streamIfPossible(scenario.token()) else { continue }
                while let line = try? await reader.next() { take(line) }
            }
        }

        private func take(_ line: JSONObject) {
            state.withLockedValue { state in
                let data = line.object("data")
                if let bucket = data.text("bucket") {
                    for operation in data.objects("data") {
                        guard let id = operation.text("object_id") else { continue }
                        let name = operation.text("data").flatMap { try? JSONObject(parsing: $0).text("name") }
                        state.buckets[bucket, default: [:]][id] = name ?? nil
                        if let name = name ?? nil { state.sent.insert("\(id) \(name)") }
                    }
                }
                if line["checkpoint_complete"] != nil {
                    state.rows = state.buckets.values.reduce(into: [:]) { $0.merge($1) { $1 } }
                }
            }
            if line["checkpoint_complete"] != nil { completed.advance() }
        }

        /// Waits until it has exactly these rows.
        func waitForRows(_ rows: [String: String]) async throws {
            while true {
                let seen = completed.version
                if state.withLockedValue({ $0.rows == rows }) { return }
                try await completed.wait(after: seen)
            }
        }
    }

    /// A service, its log and its client.
    private struct Side: Sendable {
        let name: String
        let folder: TemporaryFolder
        let log = CollectedLog()
        let client = Client()
        let written = NIOLockedValueBox(0)

        init(_ name: String) throws {
            self.name = name
            folder = try TemporaryFolder()
        }

        /// Writes a row into the source, and changes the one before it.
        func write(_ scenario: ServiceScenario) async throws {
            let number = written.withLockedValue {
                $0 += 1; return $0
            }
            func row(_ number: Int, _ suffix: String) -> JSONObject {
                Scenario.put(
                    "lists",
                    "\(name)-\(number)",
                    ["owner_id": "u1", "name": .string("\(name)\(suffix)")]
                )
            }
            try await scenario.write([row(number, ""), row(max(1, number - 1), " again")])
        }

        /// The rows of its user, as plain SQL gives them.
        func rows() async throws -> [String: String] {
            let queue = try DatabaseQueue(path: folder.path("source.db"))
            return try await queue.read { db in
                try Row.fetchAll(db, sql: "SELECT id, name FROM lists WHERE owner_id = 'u1'")
                    .reduce(into: [:]) { $0[$1["id"]] = $1["name"] }
            }
        }
    }

    private func run(_ side: Side, _ uri: String, _ body: (ServiceScenario) async throws -> Void) async throws {
        try await Scenario.run(
            in: side.folder,
            log: side.log,
            configure: { configuration in
                var settings = PostgresSettings(uri: uri)
                settings.tls = .disable
                configuration.storage = .postgresql(settings, schema: "storage_\(side.name)")
            },
            body
        )
    }

    @Test func noClientEverHasARowThatPlainSQLDoesNotGiveIt() async throws {
        let database = try TestDatabase()
        let pooler = try TestPooler(.session)
        let uri = pooler.uri(of: database.name)
        let (one, other) = (try Side("a"), try Side("b"))
        try await run(one, uri) { first in
            try await run(other, uri) { second in
                let sides = [(one, first), (other, second)]
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (side, scenario) in sides { group.addTask { try await side.client.run(scenario) } }
                    for (side, scenario) in sides {
                        for _ in 0..<5 { try await side.write(scenario) }
                        try await side.client.waitForRows(try await side.rows())
                    }
                    try pooler.change(to: .transaction)
                    // Both write until both have noticed.
                    try await withThrowingTaskGroup(of: Void.self) { writers in
                        for (side, scenario) in sides {
                            writers.addTask {
                                while !Task.isCancelled { try await side.write(scenario) }
                            }
                        }
                        for (side, _) in sides {
                            _ = try await side.log.line(containing: "goes through a pooler that gives no session")
                        }
                        writers.cancelAll()
                        while let _ = await writers.nextResult() {}
                    }
                    for (side, scenario) in sides { try await side.write(scenario) }
                    // Sessions that writers had keep their locks, whoever gets them next: they go while none belongs to a client.
                    try pooler.reconnect()
                    try pooler.change(to: .session)
                    try pooler.reconnect()
                    for (side, scenario) in sides {
                        try await side.write(scenario)
                        try await side.client.waitForRows(try await side.rows())
                    }
                    group.cancelAll()
                }
            }
        }
        for side in [one, other] {
            let names = ["\(side.name)", "\(side.name) again"]
            let own = (1...side.written.withLockedValue { $0 }).flatMap { n in names.map { "\(side.name)-\(n) \($0)" } }
            #expect(side.client.sent.subtracting(own).isEmpty)
        }
    }
}
