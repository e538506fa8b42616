import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Partial checkpoints without indexes publish what they publish with them.
@Suite struct BulkLoadPartialTests {
    /// What the service sends for one of several checkpoints that follow each other, none of which is ever complete.
    private struct Round {
        var checkpoint: SyncLine
        var lines: [SyncLine]
    }

    /// Buckets of three priorities with operations on few rows, so that rows are in several of them.
    private struct History {
        private var random: SeededGenerator
        private var opID: Int64 = 0
        private var sums: [String: Checksum] = [:]
        private var counts: [String: Int64] = [:]

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
        }

        mutating func next() -> Round {
            var lines: [SyncLine] = []
            for priority in [Int32(1), 2, 3] {
                for _ in 0..<Int.random(in: 0...3, using: &random) { lines.append(line(priority)) }
                if priority < 3, Bool.random(using: &random) { lines.append(.done(priority)) }
            }
            let buckets = counts.keys.sorted().map { name in
                BucketDescription.bucket(
                    name,
                    checksum: sums[name]?.rawValue ?? 0,
                    count: counts[name],
                    priority: Int32(name.prefix(1)) ?? 3
                )
            }
            return Round(checkpoint: .checkpoint(opID, buckets), lines: lines)
        }

        private mutating func line(_ priority: Int32) -> SyncLine {
            let bucket = "\(priority)" + (["x", "y"].randomElement(using: &random) ?? "")
            let operations = (0..<Int.random(in: 1...12, using: &random)).map { _ in operation() }
            for operation in operations {
                let checksum = Checksum(operation.checksum)
                sums[bucket] = operation.kind == .clear ? checksum : (sums[bucket] ?? .zero) + checksum
            }
            counts[bucket, default: 0] += Int64(operations.count)
            return .data(.line(bucket, operations))
        }

        private mutating func operation() -> Operation {
            opID += 1
            let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
            let id = "\(Int.random(in: 0..<12, using: &random))"
            let type = ["items", "other"].randomElement(using: &random) ?? "items"
            let subkey = [nil, "s"].randomElement(using: &random) ?? nil
            switch Int.random(in: 0..<24, using: &random) {
            case 0: return .clear(opID, checksum)
            case 1: return .put(opID, nil, checksum)
            case 2: return .put(opID, id, checksum, type: type, subkey: subkey, data: nil)
            case 3..<7: return .remove(opID, id, checksum, type: type)
            default: return .put(opID, id, checksum, type: type, subkey: subkey, data: "{\"op\":\(opID)}")
            }
        }
    }

    private struct Crash: Error {}

    /// Sends lines; now and then a transaction fails and is tried again, rows get other row ids, or the process starts again.
    private func send(_ round: Round, to scenario: SyncScenario, _ random: inout SeededGenerator) throws {
        let isRestarted = Int.random(in: 0..<6, using: &random) == 0
        if isRestarted {
            scenario.restart()
            try scenario.database.apply(.items())
            try scenario.start()
        }
        for line in [round.checkpoint] + round.lines {
            if Int.random(in: 0..<4, using: &random) == 0 {
                #expect(throws: Crash.self) {
                    try scenario.write { db in
                        var lost = scenario.engine
                        _ = try lost.handle([.line(line)], in: db, now: scenario.now)
                        throw Crash()
                    }
                }
            }
            if Int.random(in: 0..<6, using: &random) == 0 { try scenario.database.run("VACUUM") }
            try scenario.receive(line)
        }
    }

    @Test(arguments: (1...60 as ClosedRange<UInt64>).one(in: 3))
    func bothWaysToFindTheChangedRowsAgree(_ seed: UInt64) throws {
        var history = History(seed: seed)
        var random = SeededGenerator(seed: seed)
        let bulk = try SyncScenario(bulkLoadThreshold: 0)
        let indexed = try SyncScenario(bulkLoadThreshold: .max)
        try bulk.start()
        try indexed.start()
        for number in 0..<8 {
            let round = history.next()
            try send(round, to: bulk, &random)
            try indexed.send(([round.checkpoint] + round.lines).map { .line($0) })
            var (snapshot, expected) = (try bulk.snapshot, try indexed.snapshot)
            (snapshot["indexes"], expected["indexes"]) = (nil, nil)
            #expect(snapshot == expected, "seed \(seed), round \(number)")
        }
        try bulk.receive(.done)
        try indexed.receive(.done)
        #expect(try bulk.snapshot == indexed.snapshot, "seed \(seed)")
    }

    @Test func anOperationThatWasPublishedIsStillTheNewest() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        let buckets = [
            BucketDescription.bucket("a", checksum: 4, count: 1, priority: 1),
            .bucket("b", checksum: 5, count: 2, priority: 2), .bucket("c", count: 9),
        ]
        try scenario.receive(
            .checkpoint(9, buckets),
            .ops("a", .put(4, "x", 4, data: #"{"from":"a"}"#)),
            .done(1),
            .ops("b", .put(2, "x", 2, data: #"{"from":"b"}"#), .put(3, "y", 3, data: #"{"from":"b"}"#)),
            .done(2)
        )
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.items == [#"x|{"from":"a"}"#, #"y|{"from":"b"}"#])
    }

    /// What was published before costs nothing when the next partial checkpoint comes.
    @Test func onlyWhatHasChangedIsReadAgain() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        let many = (1...100).map { Operation.put($0, "\($0)") }
        try scenario.receive(.checkpoint(200, [.bucket("a", count: 101, priority: 1), .bucket("b", count: 99)]))
        try scenario.receive(.data(.line("a", many)), .ops("b", .put(101, "7"), .put(102, "new")))
        let ids = try scenario.write { try Int64.fetchAll($0, sql: "SELECT id FROM ps_buckets ORDER BY name") }
        let (a, both) = ([ids[0]], ids)

        // Nothing of this is kept, as if the transaction failed.
        var access = scenario.engine.file.access
        let found = try scenario.write { db in
            try [a, a, both, both].map { try access.changedRows(db, of: $0, besides: []) }
        }
        // The other operation of the seventh row belongs to it.
        #expect(found == [[1...100], [], [7...7, 101...102], []])

        try scenario.receive(.done(1), .ops("a", .put(103, "50")))
        access = scenario.engine.file.access
        let changed = try scenario.write { try access.changedRows($0, of: a, besides: []) }
        #expect(changed == [50...50])
    }

    @Test func rowsAreRuns() {
        let rows = StoredRows()
        for row in [1, 2, 3, 7, 8] as [Int64] { rows.append(row, bucket: 1) }
        rows.append(9, bucket: 2)
        rows.append(10, bucket: 1)
        #expect(rows.runs(ofBucket: 1, from: 0) == [1...3, 7...8, 10...10])
        #expect(rows.runs(ofBucket: 1, from: 2) == [10...10])
        #expect(rows.runs(ofBucket: 1, from: 3) == [])
        #expect(rows.runs(ofBucket: 2, from: 0) == [9...9])
        #expect(rows.runs(ofBucket: 3, from: 0) == [])
        // What was handed out does not grow.
        rows.append(11, bucket: 1)
        #expect(rows.runs(ofBucket: 1, from: 3) == [11...11])
        let (first, last) = (Int64.min, Int64.max)
        for row in [last, first, last] { rows.append(row, bucket: 4) }
        #expect(rows.runs(ofBucket: 4, from: 0) == [last...last, first...first, last...last])
    }

    @Test func roomIsForRunsAndNotForRows() {
        let rows = StoredRows()
        for row in [1, 2, 3, 7] as [Int64] { rows.append(row, bucket: 1) }
        // One run is finished.
        #expect(rows.hasRoom(for: 3_999_999))
        #expect(!rows.hasRoom(for: 4_000_000))
    }

    @Test func roomIsNeededForRunsBesideKeys() throws {
        try SyncScenario().write { db in
            let load = try BulkLoad(continuing: db)
            load.didInsert(1, bucket: 1, keyHash: 1)
            #expect(load.hasRoom(for: 3_999_999))
            // Each time a run of its own.
            for _ in 0..<3 { load.didUpdate(1, bucket: 1) }
            #expect(!load.hasRoom(for: 3_999_999))
        }
    }

    @Test func rowsWhoseNumbersAreTooLargeArePublished() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        let buckets = [BucketDescription.bucket("a", count: 2, priority: 1), .bucket("b", count: 9)]
        try scenario.receive(.checkpoint(9, buckets), .ops("a", .put(1, "x")))
        try scenario.database.write("UPDATE ps_oplog SET rowid = 4294967296")
        try scenario.receive(.ops("a", .put(2, "y")), .done(1))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.itemIDs == ["x", "y"])
    }

    /// Nothing has said then how operations are found.
    @Test func localWritesStayWhenPriorityZeroIsCompletedAfterARestart() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        let checkpoint = SyncLine.checkpoint(9, [.bucket("a", count: 1, priority: 0), .bucket("b", count: 9)])
        try scenario.start()
        try scenario.receive(checkpoint, .ops("a", .put(1, "x", data: #"{"col":"theirs"}"#)), .done(0))
        try scenario.database.write("UPDATE items SET col = 'mine'")
        scenario.restart()
        try scenario.start()
        try scenario.receive(checkpoint, .done(0))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.database.rows("SELECT id, col FROM items") == ["x|mine"])
    }
}
