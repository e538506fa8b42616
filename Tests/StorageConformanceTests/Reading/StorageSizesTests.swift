import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// How much is stored, for operators and metrics.
@Suite(.timeLimit(.minutes(2))) struct StorageSizesTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """

    @Test(arguments: TestedStorage.distinct)
    func sizesAreMeasuredAgainWhenAStreamIsDeleted(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), .insert(["id": "b"]), of: table)
        try await scenario.commit()
        let (storage, old) = (scenario.storage, scenario.stream.id)
        let changed = Self.config + "\n# another one"
        let next = try await storage.deploy(changed, plan: try plan(changed))
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true)

        let before = try #require(try await storage.sizes(after: nil))
        #expect(try await storage.sizes(after: before.version) == nil)
        try await storage.deleteData(of: old)
        let after = try #require(try await storage.sizes(after: before.version))
        #expect(after.operations < before.operations)
        #expect(after.bucketCount == before.bucketCount - 1)
        #expect(try await storage.sizes(after: after.version) == nil)
    }

    // MARK: SQLite

    /// A storage with operations in segments and outside of them, and parameter indexes.
    private static func filled() async throws -> StorageScenario {
        var limits = SealingLimits()
        limits.minimum = 1
        limits.segmentBytes = 300
        limits.unswept = 0
        var scenario = try await StorageScenario(config, sealing: limits)
        let (test, docs) = (try await scenario.table("test"), try await scenario.table("docs"))
        let m = try await scenario.table("m")
        for number in 0..<20 {
            let id = SQLValue.text("r\(number)")
            let name = SQLValue.text(String(repeating: "ü", count: 30 * number))
            try await scenario.save(.insert(["id": id, "name": name]), of: test)
            try await scenario.save(.insert(["id": id, "grp": id]), of: docs)
            try await scenario.save(.insert(["id": id, "uid": .text("u\(number % 3)"), "grp": id]), of: m)
            guard number == 10 else { continue }
            try await scenario.commit()
            try await scenario.storage.seal()
        }
        try await scenario.commit()
        return scenario
    }

    @Test func slicesAddUpToTheWhole() async throws {
        let scenario = try await Self.filled()
        let operation = "coalesce(length(CAST(data AS BLOB)), 0) + coalesce(length(row_id), 0)"
        let wholes: [(SlicedSum, bytes: String, table: String)] = [
            (.operations, operation, "operations"),
            (.segments, "length(operations)", "segments"),
            (.entries, "length(source_key) + length(outputs)", "parameter_entries"),
            (.lookups, "length(name)", "lookups"),
            (.rowStates, "length(source_key) + length(state)", "row_states"),
            (.buckets, "0", "buckets"),
        ]
        let limits: [(rows: Int, bytes: Int64)] = [(1, 1 << 20), (3, 1 << 20), (1000, 1), (1000, 400), (1000, 1 << 20)]
        for (sum, bytes, table) in wholes {
            for limit in limits {
                try await scenario.storage.pool.read { db in
                    var sliced = sum
                    while !sliced.isComplete {
                        sliced = try sliced.next(db, limits: .init(rows: limit.rows, bytes: limit.bytes))
                    }
                    let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")
                    let whole = try Int64.fetchOne(db, sql: "SELECT sum(\(bytes)) FROM \(table)")
                    #expect(sliced.count > 1, "\(table)")
                    #expect(sliced.count == count, "\(table)")
                    #expect(sliced.bytes == whole, "\(table)")
                }
            }
        }
    }

    @Test func theSumsAreThoseOfTheTables() async throws {
        let scenario = try await Self.filled()
        let sizes = try #require(try await scenario.storage.sizes(after: nil))
        let expected = try await scenario.storage.pool.read { db in
            func sum(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }
            return StorageSizes(
                version: sizes.version,
                operations: try sum("SELECT sum(length(operations)) FROM segments")
                    + sum("SELECT sum(coalesce(length(CAST(data AS BLOB)), 0) + length(row_id)) FROM operations"),
                parameters: try sum("SELECT sum(length(source_key) + length(outputs)) FROM parameter_entries")
                    + sum("SELECT sum(length(name)) FROM lookups"),
                rows: try sum("SELECT sum(length(source_key) + length(state)) FROM row_states"),
                bucketCount: Int(try sum("SELECT count(*) FROM buckets"))
            )
        }
        #expect(sizes == expected)
    }

    @Test func bucketsOfSeveralSlicesAreListed() async throws {
        let scenario = try await Self.filled()
        let (storage, stream) = (scenario.storage, scenario.stream.id)
        try await storage.pool.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
                    INSERT INTO buckets (stream, name, count) SELECT ?1 + n % 2, 'more|' || n, n % 40 FROM numbers
                    """,
                arguments: [stream.rawValue]
            )
        }
        let parts = [("", 0, 50), ("", 2_490, 50), ("more|1", 30, 5), ("g|", 0, 10), ("", 9_999, 9), ("none", 0, 3)]
        for (search, offset, limit) in parts {
            let found = try await storage.buckets(of: stream, search: search, offset: offset, limit: limit)
            let expected = try await storage.pool.read { db in
                try Self.buckets(of: stream, search: search, offset: offset, limit: limit, db)
            }
            #expect(found == expected, "\(search) from \(offset)")
        }
    }

    /// The list in one read.
    private static func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int,
        _ db: Database
    ) throws -> BucketList {
        let matches = "buckets AS b WHERE stream = ? AND instr(name, ?) > 0"
        let total = try Row.fetchOne(
            db,
            sql: "SELECT count(*), coalesce(sum(count), 0) FROM \(matches)",
            arguments: [stream.rawValue, search]
        )
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, count,
                    (SELECT coalesce(sum(length(operations)), 0) FROM segments WHERE bucket = b.id)
                    + (SELECT coalesce(sum(coalesce(length(CAST(data AS BLOB)), 0) + length(row_id)), 0)
                        FROM operations WHERE bucket = b.id AND op_id > b.sealed_op) AS bytes
                FROM \(matches) ORDER BY count DESC, name LIMIT ? OFFSET ?
                """,
            arguments: [stream.rawValue, search, limit, offset]
        )
        return BucketList(
            total: total?[0] ?? 0,
            operations: total?[1] ?? 0,
            buckets: rows.map { BucketList.Bucket(name: $0[0], operations: $0[1], bytes: $0[2]) }
        )
    }

    /// Cancels a task while it reads for the first time, which goes on to its end.
    private func expectNothingMore(
        of storage: any BucketStorage,
        after statement: String,
        _ body: @escaping @Sendable (any BucketStorage) async throws -> Void
    ) async throws {
        let (beginning, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await _ in beginning {}
            try await body(storage)
        }
        try Self.trace(storage.pool) { sql in
            if sql.contains(statement) { task.cancel() }
        }
        begin.finish()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Tells of the statements on the connection that is read from next.
    private static func trace(_ pool: DatabasePool, _ body: @escaping @Sendable (String) -> Void) throws {
        // Nobody reads any more: both this and the next reader get the first connection.
        try pool.barrierWriteWithoutTransaction { _ in }
        try pool.read { db in
            db.trace { event in body("\(event)") }
        }
    }

    @Test func measuringEndsWithItsTask() async throws {
        let scenario = try await Self.filled()
        try await expectNothingMore(of: scenario.storage, after: "compacted_op") { storage in
            _ = try await storage.sizes(after: nil)
        }
    }

    @Test func listingBucketsEndsWithItsTask() async throws {
        let scenario = try await Self.filled()
        let stream = scenario.stream.id
        try await expectNothingMore(of: scenario.storage, after: "FROM buckets") { storage in
            _ = try await storage.buckets(of: stream, search: "", offset: 0, limit: 10)
        }
    }
}
