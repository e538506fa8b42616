import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Tails of buckets that become segments (docs/service.md "Bucket storage").
@Suite(.timeLimit(.minutes(1))) struct SealingTests {
    static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
          o:
            query: SELECT * FROM test WHERE owner = auth.user_id()
        """
    private static let bucket = "g|0[]"

    /// Segments of a few operations, whose rows are deleted at once.
    private static var small: SealingLimits {
        var limits = SealingLimits()
        limits.minimum = 1
        limits.segmentBytes = 300
        limits.unswept = 0
        return limits
    }

    /// Rows in one bucket, and in those of three owners.
    private static func rows(_ range: Range<Int>) -> [SourceChange] {
        range.map { number in
            .insert(["id": .text("r\(number)"), "owner": .text("u\(number % 3)"), "n": .integer(Int64(number))])
        }
    }

    private func count(_ table: String, _ scenario: StorageScenario) async throws -> Int {
        try await scenario.storage.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    @Test func sealedOperationsAreReadAsBefore() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        var checkpoints: [StorageCheckpoint] = []
        for start in [0, 10, 20] {
            _ = try await scenario.writer.save(Self.rows(start..<start + 10), of: table, mode: .stream)
            checkpoints.append(try await scenario.commit())
        }
        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        var before: [[ReadOperation]] = []
        var sums: [BucketChecksum?] = []
        for checkpoint in checkpoints {
            before.append(try await scenario.operations(Self.bucket, at: checkpoint))
            sums.append(try await scenario.storage.checksums([name], at: checkpoint)[name])
        }
        try await scenario.storage.seal()
        #expect(try await count("segments", scenario) > 4)
        #expect(try await count("operations", scenario) == 0)
        for (index, checkpoint) in checkpoints.enumerated() {
            #expect(try await scenario.operations(Self.bucket, at: checkpoint) == before[index])
            #expect(try await scenario.storage.checksums([name], at: checkpoint)[name] == sums[index])
            for operation in before[index] {
                let chunks = try await scenario.storage.bucketData(
                    [.init(name: name, after: operation.opID)],
                    at: checkpoint
                )
                let left = before[index].filter { $0.opID > operation.opID }.map(\.opID)
                #expect(chunks.flatMap(\.line.operations).map(\.opID) == left)
            }
        }
        #expect(try await scenario.storage.changes(from: checkpoints[0], to: checkpoints[2]) == .unknown)
    }

    @Test func limitsOfReadsHold() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<40), of: table, mode: .stream)
        try await scenario.commit()
        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        var all = [BucketDataLimits(), BucketDataLimits(), BucketDataLimits(), BucketDataLimits()]
        all[0].operations = 7
        all[1].chunkBytes = 100
        all[2].totalBytes = 100
        all[3].totalBytes = 100
        all[3].chunkBytes = 10
        func summary(_ limits: BucketDataLimits) async throws -> [String] {
            try await scenario.storage.bucketData(
                [.init(name: name, after: OpID(3)), .init(name: BucketName("other"), after: .zero)],
                at: try scenario.checkpoint,
                limits: limits
            )
            .map {
                "\($0.line.after as Any) \($0.line.nextAfter as Any) \($0.line.hasMore) \($0.line.operations.count)"
            }
        }
        var before: [[String]] = []
        for limits in all { before.append(try await summary(limits)) }
        try await scenario.storage.seal()
        for (index, limits) in all.enumerated() { #expect(try await summary(limits) == before[index]) }
    }

    @Test func shortTailsAndUnpublishedOperationsStay() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<60), of: table, mode: .stream)
        try await scenario.commit()
        _ = try await scenario.writer.save(Self.rows(60..<120), of: table, mode: .stream)
        try await scenario.writer.flush()
        try await scenario.storage.seal()
        let tails = try await scenario.storage.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT count, tail FROM buckets ORDER BY name").map {
                [$0["count"], $0["tail"]] as [Int]
            }
        }
        #expect(tails == [[120, 60], [40, 40], [40, 40], [40, 40]])
        try await scenario.commit()
        #expect(try await scenario.rows(Self.bucket).count == 120)
    }

    @Test func initialCopyIsSealedBeforeItIsPublished() async throws {
        var scenario = try await StorageScenario(Self.config, isActive: false, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<20), of: table, mode: .snapshot)
        try await scenario.writer.flush()
        try await scenario.storage.seal()
        #expect(try await count("operations", scenario) == 0)
        try await scenario.writer.markSnapshotDone(noCheckpointBefore: .at(0))
        try await scenario.commit()
        #expect(try await scenario.rows(Self.bucket).count == 20)
    }

    @Test func rowsInSegmentsAreReplacedAndRemoved() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<9), of: table, mode: .stream)
        try await scenario.commit()
        try await scenario.storage.seal()
        try await scenario.save(
            .update(["id": "r0", "owner": "u1", "n": 100]),
            .delete(key: ["r1"]),
            .update(["id": "x2", "owner": "u2", "n": 2], oldKey: ["r2"]),
            of: table
        )
        try await scenario.commit()
        #expect(try await scenario.rows(#"o|0["u0"]"#).keys.sorted() == ["test/r3", "test/r6"])
        #expect(try await scenario.rows(#"o|0["u1"]"#).keys.sorted() == ["test/r0", "test/r4", "test/r7"])
        #expect(try await scenario.rows(#"o|0["u2"]"#).keys.sorted() == ["test/r5", "test/r8", "test/x2"])
        let rows = try await scenario.rows(Self.bucket)
        let result = try await scenario.storage.compact()
        #expect(result.movedOperations == 6)
        #expect(try await scenario.rows(Self.bucket) == rows)
        #expect(try await scenario.storage.compact() == CompactionResult())
    }

    @Test func aTailOf5000OperationsIsSealedInTransactionsOfAtMost4000() async throws {
        var scenario = try await StorageScenario(Self.config)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<5000), of: table, mode: .stream)
        try await scenario.commit()
        var bucket: Int64 = 0
        var steps: [Int] = []
        while true {
            let step = try await scenario.storage.pool.write { [bucket] db in
                try BucketSealing(db, limits: SealingLimits()).seal(after: bucket)
            }
            bucket = step.bucket
            steps.append(step.sealed)
            if step.isLast { break }
        }
        #expect(steps.reduce(0, +) > 9_900)
        #expect(steps.allSatisfy { $0 <= BucketSealing.batch })
    }

    /// A call that meets a damaged segment says in which bucket and file.
    private static func expectDamage(_ scenario: StorageScenario, _ body: () async throws -> Void) async {
        await #expect {
            try await body()
        } throws: { error in
            guard let error = error as? BucketStorageError else { return false }
            return error.code == .corrupted && error.message.contains("bucket 1#g|0[]")
                && error.message.contains(scenario.folder.path("buckets.db"))
        }
    }

    @Test func damagedSegmentIsAnErrorThatNamesBucketAndFile() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<9), of: table, mode: .stream)
        let early = try await scenario.commit()
        _ = try await scenario.writer.save(Self.rows(9..<12), of: table, mode: .stream)
        try await scenario.commit()
        try await scenario.storage.seal()
        let size = try await scenario.storage.pool.write { db in
            let bucket = try Int64.fetchOne(db, sql: "SELECT id FROM buckets WHERE name = '1#g|0[]'") ?? 0
            let segment = try Row.fetchOne(
                db,
                sql: "SELECT id, operations FROM segments WHERE bucket = ? ORDER BY last_op DESC LIMIT 1",
                arguments: [bucket]
            )
            var bytes: Data = try #require(segment)["operations"]
            bytes[bytes.count / 2] ^= 4
            try db.execute(
                sql: "UPDATE segments SET operations = ? WHERE id = ?",
                arguments: [bytes, try #require(segment)["id"] as Int64]
            )
            return bytes.count
        }
        #expect(size > 10)
        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        let storage = scenario.storage
        await Self.expectDamage(scenario) { _ = try await scenario.operations(Self.bucket) }
        await Self.expectDamage(scenario) { _ = try await storage.checksums([name], at: early) }
        #expect(try await scenario.rows(#"o|0["u1"]"#).count == 4)
        try await scenario.save(.delete(key: ["r11"]), of: table)
        try await scenario.commit()
        await Self.expectDamage(scenario) { _ = try await storage.compact() }
    }

    @Test func segmentsInTheWrongOrderAreAnErrorOfCompaction() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<12), of: table, mode: .stream)
        try await scenario.commit()
        try await scenario.storage.seal()
        // What is left of them fits into one segment.
        _ = try await scenario.writer.save((0..<12).map { .delete(key: [.text("r\($0)")]) }, of: table, mode: .stream)
        try await scenario.commit()
        try await scenario.storage.pool.write { db in
            // The last one comes first.
            try db.execute(
                sql: """
                    UPDATE segments SET last_op = 1 WHERE id = (
                        SELECT s.id FROM segments AS s JOIN buckets AS b ON b.id = s.bucket
                        WHERE b.name = '1#g|0[]' ORDER BY s.last_op DESC LIMIT 1)
                    """
            )
        }
        let storage = scenario.storage
        await Self.expectDamage(scenario) { _ = try await storage.compact() }
    }

    @Test func deletedStreamLeavesNoSegments() async throws {
        var scenario = try await StorageScenario(Self.config, sealing: Self.small)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(Self.rows(0..<9), of: table, mode: .stream)
        try await scenario.save(.update(["id": "r0"]), .delete(key: ["r1"]), of: table)
        try await scenario.commit()
        try await scenario.storage.seal()
        #expect(try await count("segments", scenario) > 0)
        #expect(try await count("superseded_operations", scenario) > 0)
        let old = scenario.stream.id
        let new = try await scenario.storage.restart(old)
        var writer = try await scenario.writer(of: new.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(50), createsEmptyCheckpoints: true)
        try await scenario.storage.deleteData(of: old)
        for table in ["segments", "operations", "superseded_operations", "buckets", "row_states"] {
            #expect(try await count(table, scenario) == 0, "\(table)")
        }
    }
}
