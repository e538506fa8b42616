import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What is left when the process is killed after a transaction, or the machine before its disk has the end of the WAL:
/// a checkpoint that was published, with all its rows.
@Suite(.timeLimit(.minutes(2))) struct StorageCopyTests {
    /// The value of each row of the source at each checkpoint.
    private typealias History = [OpID: [String: Int64]]

    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
          o:
            query: SELECT * FROM test WHERE owner = auth.user_id()
          s:
            query: SELECT * FROM other WHERE owner IN (SELECT owner FROM test WHERE v = auth.parameter('v'))
        """
    private static let tableName = SourceTableName(schema: "main", name: "test")

    private static func row(_ id: String, _ value: Int64) -> SourceRow {
        ["id": .text(id), "owner": .text("u\(value % 3)"), "v": .integer(value)]
    }

    /// Copies the files after each commit.
    private final class Copier: TransactionObserver, Sendable {
        private let source: TemporaryFolder
        private let target: TemporaryFolder
        private let copied = NIOLockedValueBox<Int>(0)

        init(_ source: TemporaryFolder, to target: TemporaryFolder) {
            self.source = source
            self.target = target
        }

        var count: Int { copied.withLockedValue { $0 } }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

        func databaseDidChange(with event: DatabaseEvent) {}

        func databaseDidCommit(_ db: Database) {
            copied.withLockedValue { number in
                number += 1
                for suffix in ["", "-wal"] {
                    let data = FileManager.default.contents(atPath: source.path("buckets.db" + suffix)) ?? Data()
                    _ = FileManager.default.createFile(atPath: target.path("\(number).db" + suffix), contents: data)
                }
            }
        }

        func databaseDidRollback(_ db: Database) {}
    }

    private static var small: SealingLimits {
        var limits = SealingLimits()
        limits.minimum = 3
        limits.segmentBytes = 300
        limits.unswept = 5
        return limits
    }

    private struct Run {
        let folder: TemporaryFolder
        let copies: Int
        let history: History
        /// All values that rows have had.
        let values: Set<Int64>
        /// For positions that the disk has confirmed, the number of the copy.
        let durable: [(copy: Int, lsn: LSN)]
    }

    /// Random changes, commits, sealing, compaction and a replaced stream, with a copy after each transaction.
    private func run(
        seed: UInt64,
        pragma: String? = nil,
        walLimit: Int = WriteAheadLog.limit
    ) async throws -> Run {
        var random = SeededGenerator(seed: seed)
        var scenario = try await StorageScenario(Self.config, sealing: Self.small, walLimit: walLimit)
        if let pragma { try await scenario.storage.pool.write { db in try db.execute(sql: pragma) } }
        let folder = try TemporaryFolder()
        let copier = Copier(scenario.folder, to: folder)
        scenario.storage.pool.add(transactionObserver: copier)
        var table = try await scenario.table("test")
        var source: [String: Int64] = [:]
        var values: Set<Int64> = []
        var history: History = [try scenario.checkpoint.opID: [:]]
        var durable: [(copy: Int, lsn: LSN)] = []
        for step in 0..<50 {
            switch step == 30 ? 9 : random.number(below: 9) {
            case 0...3:
                for _ in 0...random.number(below: 6) {
                    let id = "r\(random.number(below: 12))"
                    if source[id] != nil, random.number(below: 3) == 0 {
                        source[id] = nil
                        try await scenario.save(.delete(key: [.text(id)]), of: table)
                    } else {
                        let value = Int64(random.number(below: 1000))
                        source[id] = value
                        values.insert(value)
                        try await scenario.save(.update(Self.row(id, value)), of: table)
                    }
                }
            case 4: try await scenario.writer.flush()
            case 5, 6:
                let result = try await scenario.commit()
                history[result.opID] = source
                if random.number(below: 3) == 0, let position = try await scenario.writer.makeDurable() {
                    durable.append((copier.count, position.position.lsn))
                }
            case 7: try await scenario.storage.seal()
            case 8: _ = try await scenario.storage.compact()
            default:
                table = try await replaceStream(of: &scenario, by: source)
                history[try await scenario.commit().opID] = source
                try await scenario.storage.deleteData(of: scenario.stream.id)
            }
        }
        scenario.storage.pool.remove(transactionObserver: copier)
        try scenario.storage.close()
        return Run(folder: folder, copies: copier.count, history: history, values: values, durable: durable)
    }

    /// Copies the rows of the source for another stream, which takes over with the next commit.
    ///
    /// - Returns: The table of the other stream.
    private func replaceStream(
        of scenario: inout StorageScenario,
        by source: [String: Int64]
    ) async throws -> SourceTable {
        let text = Self.config + "\n# again\n"
        let next = try await scenario.storage.deploy(text, plan: try plan(text))
        scenario.writer = try await scenario.writer(of: next.id)
        try await scenario.writer.setResumePosition(.at(scenario.position))
        let table = try await scenario.table("test")
        for (id, value) in source.sorted(by: { $0.key < $1.key }) {
            try await scenario.save(.insert(Self.row(id, value)), of: table, mode: .snapshot)
            try await scenario.writer.flush()
        }
        try await scenario.writer.markSnapshotDone(noCheckpointBefore: .at(scenario.position))
        return table
    }

    /// Checks that a copy opens, and has a checkpoint with its rows, also after sealing, compaction and what is left to delete.
    private func check(_ path: String, _ run: Run, _ comment: Comment) async throws -> LSN {
        let storage = try SQLiteBucketStorage(path: path, sealing: Self.small)
        defer { try? storage.close() }
        let checkpoint = try #require(storage.feed.current, comment)
        let streams = try await storage.streams()
        let stream = try #require(streams.first { $0.id == checkpoint.streamID }, comment)
        let expected = try #require(run.history[checkpoint.opID], comment)
        for step in 0..<3 {
            if step == 1 { try await storage.seal() }
            if step == 2 {
                _ = try await storage.compact()
                for stopped in streams where stopped.state == .stop { try await storage.deleteData(of: stopped.id) }
            }
            let operations = try await storage.allOperations("g|0[]", of: stream, at: checkpoint)
            let rows = reduceByIdentity(operations).values.map { row in
                let value = row.data.flatMap { try? JSONObject(parsing: $0) }?["v"]?.text ?? "?"
                return "\(row.id)=\(value)"
            }
            #expect(Set(rows) == Set(expected.map { "\($0.key)=\($0.value)" }), comment)
            #expect(rows.count == expected.count, comment)
            var split = 0
            for bucket in ["g|0[]", #"o|0["u0"]"#, #"o|0["u1"]"#, #"o|0["u2"]"#] {
                let operations = try await storage.allOperations(bucket, of: stream, at: checkpoint)
                let name = BucketName(stream.bucketPrefix + bucket)
                let sum = try await storage.checksums([name], at: checkpoint)[name]
                let found = operations.map(\.checksum).reduce(.zero, +)
                #expect(sum == BucketChecksum(checksum: found, count: Int64(operations.count)), comment)
                if bucket != "g|0[]" { split += reduceByIdentity(operations).count }
            }
            #expect(split == expected.count, comment)
            try await checkLookups(storage, stream, checkpoint, expected, run.values, comment)
        }
        return checkpoint.lsn
    }

    /// Checks that lookups find what rows of a checkpoint say, and nothing else.
    private func checkLookups(
        _ storage: any BucketStorage,
        _ stream: ReplicationStream,
        _ checkpoint: StorageCheckpoint,
        _ rows: [String: Int64],
        _ values: Set<Int64>,
        _ comment: Comment
    ) async throws {
        func entries(_ id: String, _ value: Int64) -> [(ParameterLookup, Set<ParameterRow>)] {
            stream.plan.evaluateParameters(Self.row(id, value), of: Self.tableName).map { ($0.lookup, Set($0.rows)) }
        }
        let expected = Dictionary(rows.flatMap { entries($0.key, $0.value) }) { $0.union($1) }
        let lookups = Set(values.flatMap { entries("any", $0) }.map(\.0))
        #expect(values.isEmpty || !lookups.isEmpty)
        let found = try await storage.parameterRows(Array(lookups), at: checkpoint, limit: .max)
        #expect(found.mapValues { Set($0) } == expected, comment)
    }

    @Test(arguments: [1, 2] as [UInt64])
    func nothingPublishedIsLostOrWrong(seed: UInt64) async throws {
        let run = try await run(seed: seed, walLimit: 100_000)
        #expect(run.copies > 20)
        var last = LSN.at(0)
        var (length, restarts) = (0, 0)
        for number in 1...run.copies {
            let log = FileManager.default.contents(atPath: run.folder.path("\(number).db-wal"))?.count ?? 0
            if log < length { restarts += 1 }
            length = log
            let lsn = try await check(run.folder.path("\(number).db"), run, "seed \(seed), copy \(number)")
            #expect(lsn >= last, "seed \(seed), copy \(number)")
            last = lsn
        }
        #expect(restarts > 0, "seed \(seed)")
    }

    @Test(arguments: [11, 12] as [UInt64])
    func lostTailOfTheLogTakesBackWholeCheckpoints(seed: UInt64) async throws {
        // Nothing is copied into the file, so that every beginning of the WAL may be what is left.
        let run = try await run(seed: seed, pragma: "PRAGMA wal_autocheckpoint = 0")
        var random = SeededGenerator(seed: seed &* 31)
        let whole = FileManager.default.contents(atPath: run.folder.path("\(run.copies).db-wal")) ?? Data()
        let file = FileManager.default.contents(atPath: run.folder.path("\(run.copies).db")) ?? Data()
        // The tables and the first checkpoint are there in any case.
        let firstBytes = FileManager.default.contents(atPath: run.folder.path("1.db-wal"))?.count ?? 0
        /// The bytes of the WAL when the disk confirmed what was in it: these are not lost.
        var confirmed = (bytes: 0, lsn: LSN.at(0))
        for number in 1...run.copies {
            let written = FileManager.default.contents(atPath: run.folder.path("\(number).db-wal"))?.count ?? 0
            if let durable = run.durable.last(where: { $0.copy == number }) { confirmed = (written, durable.lsn) }
            let lost = random.number(below: 3) == 0 ? 0 : random.number(below: 20_000)
            let kept = max(confirmed.bytes, written - lost, firstBytes)
            let path = run.folder.path("cut\(number).db")
            _ = FileManager.default.createFile(atPath: path, contents: file)
            _ = FileManager.default.createFile(atPath: path + "-wal", contents: whole.prefix(kept))
            let comment: Comment = "seed \(seed), copy \(number) with \(kept) of \(written) bytes"
            #expect(try await check(path, run, comment) >= confirmed.lsn, comment)
        }
    }
}
