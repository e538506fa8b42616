import Foundation
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// How often a commit waits for the server of the storage (docs/postgres-storage.md "What a commit waits for").
@Suite(.timeLimit(.minutes(1))) struct PostgresRoundTripTests {
    private static let config = """
        config: {edition: 3}
        streams:
          all: {query: SELECT * FROM test}
          own: {query: SELECT * FROM test WHERE owner IN (SELECT owner FROM grants WHERE member = auth.user_id())}
        """

    /// A storage behind a proxy that counts.
    private static func withScenario(
        _ body: (inout StorageScenario, CountingPostgresProxy) async throws -> Void
    ) async throws {
        let server = try #require(ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"])
        let proxy = try await CountingPostgresProxy(to: try #require(URLComponents(string: server)?.port))
        let port = proxy.port
        var scenario = try await StorageScenario(
            config,
            on: .init("behind a proxy") { try PostgresStorageHome(port: port) }
        )
        try await body(&scenario, proxy)
        await scenario.home.releaseWriters()
        try scenario.storage.close()
        try await proxy.stop()
    }

    /// What one of several commits asks for: each statement was prepared by those before.
    private static func settled(
        _ proxy: CountingPostgresProxy,
        _ body: (Int) async throws -> Void
    ) async throws -> CountingPostgresProxy.Counts {
        for number in 0..<3 { try await body(number) }
        _ = proxy.take()
        try await body(3)
        return proxy.take()
    }

    @Test func aCommitOfAnUpdateWaitsTwice() async throws {
        try await Self.withScenario { scenario, proxy in
            let table = try await scenario.table("test")
            try await scenario.save(.insert(["id": "a", "owner": "u"]), of: table)
            try await scenario.commit()
            let counts = try await Self.settled(proxy) { number in
                try await scenario.save(.update(["id": "a", "owner": "u", "body": .integer(Int64(number))]), of: table)
                try await scenario.commit()
            }
            // 1: begin, place, record, names, buckets, the row, op ids. 2: operations, the row, buckets, what they supersede, the lock of
            // those who publish, the record, the notification, commit. Only `BEGIN` and `COMMIT` are texts.
            #expect(counts == .init(statements: 15, texts: 2, roundTrips: 2))
        }
    }

    @Test func aCommitThatChangesNothingReadsTheRow() async throws {
        try await Self.withScenario { scenario, proxy in
            let table = try await scenario.table("test")
            try await scenario.save(.insert(["id": "a", "owner": "u"]), of: table)
            try await scenario.commit()
            let counts = try await Self.settled(proxy) { _ in
                try await scenario.save(.update(["id": "a", "owner": "u"]), of: table)
                try await scenario.commit()
            }
            // Op ids that were not used are there for the next one.
            #expect(counts == .init(statements: 10, texts: 2, roundTrips: 2))
        }
    }

    @Test func aRowWithANewBucketAndParametersWaitsForTheirNumbers() async throws {
        try await Self.withScenario { scenario, proxy in
            let table = try await scenario.table("grants")
            let counts = try await Self.settled(proxy) { number in
                try await scenario.save(.insert(["id": .text("g\(number)"), "owner": "u", "member": "m"]), of: table)
                try await scenario.commit()
            }
            #expect(counts.roundTrips == 2)
            let other = try await Self.settled(proxy) { number in
                let name = SQLValue.text("other \(number)")
                try await scenario.save(.insert(["id": name, "owner": "u", "member": name]), of: table)
                try await scenario.commit()
            }
            #expect(other.roundTrips == 3)
        }
    }

    @Test func whatAClientIsToldIsReadInTwo() async throws {
        try await Self.withScenario { scenario, proxy in
            let table = try await scenario.table("test")
            try await scenario.save(.insert(["id": "a", "owner": "u"]), of: table)
            var last = try await scenario.commit()
            let bucket = BucketName(scenario.stream.bucketPrefix + "all|0[]")
            var commit = CountingPostgresProxy.Counts()
            let counts = try await Self.settled(proxy) { number in
                try await scenario.save(.update(["id": "a", "owner": "u", "body": .integer(Int64(number))]), of: table)
                let next = try await scenario.commit()
                commit = proxy.take()
                // As the dispatcher does, which reads the last two at the same time.
                let changes = try await scenario.storage.changes(from: last, to: next)
                let isKnown = if case .known(let buckets, _) = changes { buckets.contains(bucket) } else { false }
                #expect(isKnown)
                _ = try await scenario.storage.checksums([bucket], at: next)
                let position = StreamingSyncRequest.BucketPosition(name: bucket, after: last.opID)
                _ = try await scenario.storage.bucketData([position], at: next, limits: FreshOperations.limits)
                last = next
            }
            #expect(commit.roundTrips == 2)
            #expect(counts == .init(statements: 7, texts: 0, roundTrips: 3))
        }
    }
}
