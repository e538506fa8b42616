import Foundation
import MySQLTestSupport
import PostgresTestSupport
import PowerSyncBackend
import Testing

/// Backends that are killed and servers that are gone, before, in and after `COMMIT`.
@Suite(.timeLimit(.minutes(2))) struct ApplierKillTests {
    private struct Killed: Error {}

    /// A kind of database, and when the backend's process ends.
    struct Kill: Sendable, CustomTestStringConvertible {
        let kind: Kind
        let death: DyingBackend.Death

        var testDescription: String { "\(kind) \(death)" }

        /// What happens in a commit, only SQLite does in the process of the backend.
        static let all = Kind.allCases.flatMap { kind in
            DyingBackend.Death.allCases
                .filter { kind == .sqlite || ![.committing, .committed].contains($0) }
                .map { Kill(kind: kind, death: $0) }
        }
    }

    /// The process of the backend is killed while it applies the second request.
    @Test(arguments: Kill.all) func everyWriteOfAKilledBackendIsCountedOnce(_ kill: Kill) async throws {
        let database = try await kill.kind.database(ApplierScenario.schema(kill.kind))
        var isKilled = false
        let failures = try await upload(to: database, leaving: kill.death.isBehindTheCommit ? "20" : "10") { request in
            guard !isKilled, request.entries.first?.operationID == 11 else {
                return try await database.applier.apply(request, for: BackendUser(id: "u1"))
            }
            let backend = DyingBackend(kill.kind, database.place, kill.death, request)
            await #expect(processExitsWith: .signal(kill.death.signal)) { [backend = backend as DyingBackend] in
                try await backend.run()
            }
            isKilled = true
            throw Killed()
        }
        #expect(failures == 1)
    }

    @Test(arguments: [Kind.postgres, .mysql], CommitProxy.Cut.allCases)
    func everyWriteToAServerThatIsGoneIsCountedOnce(_ kind: Kind, cut: CommitProxy.Cut) async throws {
        // The records of PostgreSQL are made in a transaction of their own, before the first request. With MySQL each request says READ
        // COMMITTED before.
        let passed = kind == .postgres ? 2 : 3
        let port = try kind == .postgres ? Self.postgresPort() : TestMySQL.shared().port
        let proxy = try await CommitProxy(to: port, cut, after: passed)
        let database: any AppDatabase
        let schema = ApplierScenario.schema(kind)
        if kind == .postgres {
            database = try await PostgresAppDatabase(schema, UploadApplierOptions(), .everything, port: proxy.port)
        } else {
            database = try await MySQLAppDatabase(schema, UploadApplierOptions(), .everything, port: proxy.port)
        }
        let failures = try await upload(to: database, leaving: cut == .before ? "10" : "20") { request in
            try await database.applier.apply(request, for: BackendUser(id: "u1"))
        }
        #expect(proxy.hasCut)
        #expect(failures == 1 || cut == .after)
        try await proxy.stop()
    }

    /// Uploads forty writes, ten in a request, sends again what was not answered, and expects that each was applied once.
    ///
    /// - Parameters:
    ///   - database: Where the writes are counted.
    ///   - count: How many rows there are when a request has failed: the second of four.
    ///   - apply: Applies a request.
    /// - Returns: How many requests have failed.
    /// - Throws: When there is no end of failures.
    private func upload(
        to database: any AppDatabase,
        leaving count: String,
        by apply: (UploadRequest) async throws -> UploadResponse
    ) async throws -> Int {
        var queue = (1...40).map { ApplierScenario.put(Int64($0), "\($0)", transaction: Int64($0 / 4)) }
        var failures = 0
        while !queue.isEmpty {
            let request = UploadRequest(clientID: "c1", entries: Array(queue.prefix(10)))
            do {
                let response = try await apply(request)
                #expect(response.rejections.isEmpty)
                let applied = response.appliedThrough ?? 0
                queue.removeAll { $0.operationID <= applied }
            } catch {
                failures += 1
                try #require(failures < 5, "\(error)")
                #expect(try await database.run("SELECT count(*) FROM lists").first?.first == count)
            }
        }
        // The triggers count: a write that is applied twice is an update.
        let log = try await database.run("SELECT what FROM log").map { $0[0] ?? "" }
        #expect(log.sorted() == (1...40).map { "+\($0)" }.sorted())
        return failures
    }

    private static func postgresPort() throws -> Int {
        let uri = try #require(ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"])
        return try #require(URLComponents(string: uri)?.port)
    }
}
