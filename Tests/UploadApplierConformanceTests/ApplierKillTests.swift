import Foundation
import MySQLTestSupport
import PostgresTestSupport
import PowerSyncBackend
import Testing

/// Servers that are gone before, in and after `COMMIT`.
@Suite(.timeLimit(.minutes(2))) struct ApplierKillTests {
    @Test(arguments: [Kind.postgres, .mysql], CommitProxy.Cut.allCases)
    func everyWriteIsCountedOnce(_ kind: Kind, cut: CommitProxy.Cut) async throws {
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
        var queue = (1...40).map { ApplierScenario.put(Int64($0), "\($0)", transaction: Int64($0 / 4)) }
        var failures = 0
        while !queue.isEmpty {
            let request = UploadRequest(clientID: "c1", entries: Array(queue.prefix(10)))
            do {
                let response = try await database.applier.apply(request, for: BackendUser(id: "u1"))
                #expect(response.rejections.isEmpty)
                let applied = response.appliedThrough ?? 0
                queue.removeAll { $0.operationID <= applied }
            } catch {
                failures += 1
                try #require(failures < 5, "\(error)")
                let count = try await database.run("SELECT count(*) FROM lists").first?.first
                // After the first of four requests, and perhaps the second one.
                #expect(count == (cut == .before ? "10" : "20"))
            }
        }
        #expect(proxy.hasCut)
        #expect(failures == 1 || cut == .after)
        // The triggers count: a write that is applied twice is an update.
        let log = try await database.run("SELECT what FROM log").map { $0[0] ?? "" }
        #expect(log.sorted() == (1...40).map { "+\($0)" }.sorted())
        try await proxy.stop()
    }

    private static func postgresPort() throws -> Int {
        let uri = try #require(ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"])
        return try #require(URLComponents(string: uri)?.port)
    }
}
