import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What is left when the process is killed after a transaction, or the machine before its disk has the end of the WAL:
/// a checkpoint that was published, with all its rows.
@Suite(.timeLimit(.minutes(2))) struct StorageCopyTests {
    /// Rows of the source at each checkpoint, as `id=value`.
    private typealias History = [OpID: Set<String>]

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
        /// For positions that the disk has confirmed, the number of the copy.
        let durable: [(copy: Int, lsn: LSN)]
    }

    /// Random changes, commits, sealing, compaction and a replaced stream, with a copy after each transaction.
    private func run(seed: UInt64, pragma: String? = nil) async throws -> Run {
        var random = SeededGenerator(seed: seed)
        var scenario = try await StorageScenario(SealingTests.config, sealing: Self.small)
        if let pragma { try await scenario.storage.pool.write { db in try db.execute(sql: pragma) } }
        let folder = try TemporaryFolder()
        let copier = Copier(scenario.folder, to: folder)
        scenario.storage.pool.add(transactionObserver: copier)
        let table = try await scenario.table("test")
        var source: [String: Int64] = [:]
        var history: History = [try scenario.checkpoint.opID: []]
        var durable: [(copy: Int, lsn: LSN)] = []
        for _ in 0..<50 {
            switch random.number(below: 9) {
            case 0...3:
                for _ in 0...random.number(below: 6) {
                    let id = "r\(random.number(below: 12))"
                    if source[id] != nil, random.number(below: 3) == 0 {
                        source[id] = nil
                        try await scenario.save(.delete(key: [.text(id)]), of: table)
                    } else {
                        let value = Int64(random.number(below: 1000))
                        source[id] = value
                        let owner = SQLiteValue.text("u\(value % 3)")
                        try await scenario.save(
                            .update(["id": .text(id), "owner": owner, "v": .integer(value)]),
                            of: table
                        )
                    }
                }
            case 4: try await scenario.writer.flush()
            case 5, 6:
                let result = try await scenario.commit()
                history[result.opID] = Set(source.map { "\($0.key)=\($0.value)" })
                if random.number(below: 3) == 0, let position = try await scenario.writer.makeDurable() {
                    durable.append((copier.count, position.position.lsn))
                }
            case 7: try await scenario.storage.seal()
            default: _ = try await scenario.storage.compact()
            }
        }
        scenario.storage.pool.remove(transactionObserver: copier)
        try scenario.storage.close()
        return Run(folder: folder, copies: copier.count, history: history, durable: durable)
    }

    /// Checks that a copy opens, and has a checkpoint with its rows, also after sealing and compaction.
    private func check(_ path: String, _ run: Run, _ comment: Comment) async throws -> LSN {
        let storage = try SQLiteBucketStorage(path: path, sealing: Self.small)
        defer { try? storage.close() }
        let checkpoint = try #require(storage.feed.current, comment)
        let stream = try #require(try await storage.streams().first, comment)
        let expected = try #require(run.history[checkpoint.opID], comment)
        for step in 0..<3 {
            if step == 1 { try await storage.seal() }
            if step == 2 { _ = try await storage.compact() }
            let operations = try await storage.allOperations("g|0[]", of: stream, at: checkpoint)
            let rows = reduceByIdentity(operations).values.map { row in
                let value = row.data.flatMap { try? JSONObject(parsing: $0) }?["v"]?.text ?? "?"
                return "\(row.id)=\(value)"
            }
            #expect(Set(rows) == expected && rows.count == expected.count, comment)
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
        }
        return checkpoint.lsn
    }

    @Test("killed after each transaction of writing, sealing and compaction", arguments: [1, 2] as [UInt64])
    func nothingPublishedIsLostOrWrong(seed: UInt64) async throws {
        let run = try await run(seed: seed)
        #expect(run.copies > 20)
        var last = LSN.at(0)
        for number in 1...run.copies {
            let lsn = try await check(run.folder.path("\(number).db"), run, "seed \(seed), copy \(number)")
            #expect(lsn >= last, "seed \(seed), copy \(number)")
            last = lsn
        }
    }

    @Test("the end of the WAL is lost, at any byte", arguments: [11, 12] as [UInt64])
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
