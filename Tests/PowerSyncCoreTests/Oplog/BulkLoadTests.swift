import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// A large first download works without indexes, and ends in the same tables.
@Suite struct BulkLoadTests {
    /// Lines with all kinds of operations on few keys, so that keys meet often, and their checkpoint.
    private func randomHistory(
        seed: UInt64,
        lines: Int,
        operations: Int,
        rows: Int = 40
    ) -> (checkpoint: SyncLine, data: [SyncLine]) {
        var random = SeededGenerator(seed: seed)
        var opID: Int64 = 0
        var sums: [String: Checksum] = [:]
        var counts: [String: Int64] = [:]
        let data = (0..<lines).map { _ -> SyncLine in
            let bucket = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            let line = (0..<operations).map { _ -> Operation in
                opID += 1
                let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
                let id = "\(Int.random(in: 0..<rows, using: &random))"
                let type = ["items", "other", "è"].randomElement(using: &random)
                let subkey = [nil, "x", "y/z"].randomElement(using: &random) ?? nil
                switch Int.random(in: 0..<20, using: &random) {
                case 0: return .clear(opID, checksum)
                case 1, 2: return .move(opID, checksum)
                case 3..<7: return .remove(opID, id, checksum, type: type ?? "items")
                case 7: return .put(opID, id, checksum, type: type, subkey: subkey, data: nil)
                case 8: return .put(opID, nil, checksum)
                default: return .put(opID, id, checksum, type: type, subkey: subkey, data: "{\"op\":\(opID)}")
                }
            }
            for operation in line {
                let checksum = Checksum(operation.checksum)
                if operation.kind == .clear {
                    sums[bucket] = checksum
                } else {
                    sums[bucket, default: .zero] += checksum
                }
            }
            counts[bucket, default: 0] += Int64(operations)
            return .data(.line(bucket, line))
        }
        let buckets = counts.keys.sorted().map {
            BucketDescription.bucket(
                $0,
                checksum: sums[$0]?.rawValue ?? 0,
                count: counts[$0],
                priority: $0 == "a" ? 1 : 3
            )
        }
        return (.checkpoint(opID, buckets), data)
    }

    @Test(
        arguments: (1...20 as ClosedRange<UInt64>).one(in: 2),
        Delivery.allCases
    )
    func tablesAreTheSameAsWithoutABulkLoad(_ seed: UInt64, _ delivery: Delivery) throws {
        let (checkpoint, data) = randomHistory(seed: seed, lines: 10, operations: 8, rows: 16)
        let half = data.count / 2
        for completions in [[SyncLine.done], [.done(1), .done]] {
            let snapshots = try ([1, .max] as [Int64]).map { threshold -> [String: [String]] in
                let scenario = try SyncScenario(delivery: delivery, bulkLoadThreshold: threshold)
                try scenario.start()
                try scenario.send([.line(checkpoint)] + data[..<half].map { .line($0) })
                #expect(try scenario.oplogIndexes == (threshold == 1 ? [] : SyncScenario.allOplogIndexes))
                try scenario.send(data[half...].map { .line($0) })
                try scenario.send(completions.map { .line($0) })
                #expect(scenario.status.hasSynced == true, "seed \(seed)")
                #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
                return try scenario.snapshot
            }
            #expect(snapshots[0] == snapshots[1], "seed \(seed)")
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func bothWaysToFindTheRowsOfAFirstApplyAgree(_ seed: UInt64) throws {
        let (checkpoint, data) = randomHistory(seed: seed, lines: 10, operations: 20)
        let scenario = try SyncScenario(delivery: .batched)
        try scenario.start()
        try scenario.send(([checkpoint] + data).map { .line($0) })
        try scenario.write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO ps_updated_rows VALUES ('items', '0'), ('other', 'nowhere')")
            let ids = try Int64.fetchAll(db, sql: "SELECT id FROM ps_buckets")
            let all = try rows(.everything, db)
            #expect(!all.isEmpty)
            #expect(try rows(.complete(unapplied: nil), db) == all, "seed \(seed)")
            #expect(try rows(.complete(unapplied: ids), db) == all, "seed \(seed)")
        }
    }

    private func rows(_ changed: ChangedRows, _ db: Database) throws -> [String: String?] {
        var rows: [String: String?] = [:]
        try changed.forEach(db) { row in
            let key = String(decoding: row.type, as: UTF8.self) + "/" + String(decoding: row.id, as: UTF8.self)
            #expect(rows[key] == nil)
            rows[key] = .some(row.data.map { String(decoding: $0, as: UTF8.self) })
        }
        return rows
    }

    @Test
    func firstDownloadIsContinuedAsABulkLoadAfterARestart() throws {
        let (checkpoint, data) = randomHistory(seed: 1, lines: 12, operations: 15)
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.send([.line(checkpoint)] + data[..<6].map { .line($0) })
        scenario.restart()
        try scenario.start()
        #expect(try scenario.oplogIndexes.isEmpty)
        try scenario.send([.line(checkpoint)] + data[6...].map { .line($0) } + [.line(.done)])
        #expect(scenario.status.hasSynced == true)
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        let reference = try SyncScenario()
        try reference.start()
        try reference.send(([checkpoint] + data + [.done]).map { .line($0) })
        #expect(try scenario.snapshot == reference.snapshot)
    }

    @Test
    func downloadThatIsContinuedFindsTheRowsFromBefore() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        let checkpoint = SyncLine.checkpoint(9, [.bucket("a", checksum: 7, count: 9)])
        try scenario.start()
        try scenario.receive(checkpoint, .ops("a", .put(1, "x", 1), .put(2, "y", 2)))
        scenario.restart()
        try scenario.start()
        try scenario.receive(checkpoint, .ops("a", .remove(3, "x", 4)))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.oplog == ["a|2|items/y/null|2"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["y"])
    }

    @Test
    func whatAnotherProcessStoresMeanwhileIsFound() throws {
        let folder = try TemporaryFolder()
        let database = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        let scenario = SyncScenario(database: database, bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(.checkpoint(9, [.bucket("a", checksum: 15, count: 9)]), .ops("a", .put(1, "x", 1)))
        #expect(try scenario.oplogIndexes.isEmpty)
        let other = try DatabaseQueue(path: folder.path("shared.db"), configuration: Configuration().forPowerSync())
        try other.write { db in
            try db.execute(
                sql: """
                    INSERT INTO ps_oplog (bucket, op_id, row_type, row_id, key, data, hash)
                    SELECT id, 2, 'items', 'y', 'items/y/null', '{}', 2 FROM ps_buckets;
                    UPDATE ps_buckets SET op_checksum = op_checksum + 2, last_op = 2
                    """
            )
        }
        try scenario.receive(.ops("a", .remove(3, "y", 12)))
        #expect(try scenario.oplog == ["a|1|items/x/null|1"])
        try scenario.receive(.done)
        #expect(scenario.status.hasSynced == true)
        #expect(try scenario.itemIDs == ["x"])
    }

    @Test
    func whatAnotherProcessStoresBetweenTwoIterationsIsFound() throws {
        let folder = try TemporaryFolder()
        let database = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        let scenario = SyncScenario(database: database, bulkLoadThreshold: 1)
        let checkpoint = SyncLine.checkpoint(9, [.bucket("a", checksum: 15, count: 9)])
        try scenario.start()
        try scenario.receive(checkpoint, .ops("a", .put(1, "x", 1)))
        try scenario.send(.streamEnded)
        let other = SyncScenario(
            database: try LocalTestDatabase(itemsIn: folder.path("shared.db")),
            bulkLoadThreshold: 1
        )
        try other.start()
        try other.receive(checkpoint, .ops("a", .put(2, "y", 2)))
        try other.send(.streamEnded)
        try scenario.start()
        try scenario.receive(checkpoint, .ops("a", .remove(3, "y", 12)))
        #expect(try scenario.oplog == ["a|1|items/x/null|1"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x"])
    }

    @Test
    func rowsAreFoundThatHaveGotOtherRowIds() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(
            .checkpoint(4, [.bucket("a", count: 4)]),
            .ops("a", .put(1, "x"), .put(2, "y"), .remove(3, "x"))
        )
        try scenario.database.run("VACUUM")
        try scenario.receive(.ops("a", .remove(4, "y")))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.oplog.isEmpty)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs.isEmpty)
    }

    /// A look takes as long as there are operations.
    @Test
    func operationsAreLookedThroughAgainOnlyWhenTheyMayBeOthers() throws {
        let folder = try TemporaryFolder()
        let database = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        let scenario = SyncScenario(database: database, bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(.checkpoint(100, [.bucket("a", count: 100)]))
        /// What is known after two more lines, of which the second one finds nothing changed.
        func keys(from opID: Int64) throws -> KeyDirectory {
            try scenario.receive(.ops("a", .put(opID, "\(opID)")))
            let keys = try #require(scenario.engine.file.access.bulkLoad?.keys)
            try scenario.receive(.ops("a", .put(opID + 1, "\(opID + 1)")))
            let later = try #require(scenario.engine.file.access.bulkLoad?.keys)
            #expect(keys === later)
            return keys
        }
        let first = try keys(from: 1)
        try database.run("VACUUM")
        let second = try keys(from: 3)
        #expect(first !== second)
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        try other.write("INSERT INTO ps_kv VALUES ('other', 1)")
        let third = try keys(from: 5)
        #expect(second !== third)
    }

    @Test
    func rowThatComesAgainAtThePlaceWhereItWasCountsOnce() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(
            .checkpoint(9, [.bucket("a", checksum: 15, count: 9)]),
            .ops("a", .put(1, "x", 1), .remove(2, "x", 2), .put(3, "x", 4), .put(4, "x", 8))
        )
        #expect(try scenario.checksums() == "7|8")
        try scenario.receive(.done)
        #expect(try scenario.items == ["x|{}"])
    }

    @Test
    func whatARolledBackTransactionLeftInTheDirectoryOfKeysDoesNoHarm() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(.checkpoint(9, [.bucket("a", checksum: 7, count: 9)]), .ops("a", .put(1, "kept", 1)))
        struct Crash: Error {}
        #expect(throws: Crash.self) {
            try scenario.write { db in
                var next = scenario.engine
                _ = try next.handle([.line(.ops("a", .put(2, "lost", 2), .put(3, "x", 4)))], in: db, now: scenario.now)
                throw Crash()
            }
        }
        // The row ids of the lost rows are used again, by other keys.
        try scenario.receive(.ops("a", .put(2, "x", 2), .put(3, "lost", 1), .put(4, "x", 1), .remove(5, "kept", 2)))
        #expect(try scenario.oplog == ["a|3|items/lost/null|1", "a|4|items/x/null|1"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["lost", "x"])
    }

    @Test
    func bulkLoadBeginsOnlyBeforeTheFirstSyncAndOnlyForMuchData() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 10)
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a", count: 9)]), .ops("a", .put(1, "x")))
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        try scenario.receive(.done, .diff(2, [.bucket("a", count: 100)]), .ops("a", .put(2, "y")))
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
    }

    @Test
    func plannerUsesTheIntendedIndexesAndSortsOnce() throws {
        let scenario = try SyncScenario()
        try scenario.write { db in
            let everything = try ChangedRows.everything.plan(db)
            #expect(!everything.contains { $0.contains("TEMP B-TREE") }, "\(everything)")
            for rows in [
                ChangedRows.complete(unapplied: nil), .complete(unapplied: [1]), .complete(unapplied: [1, 2]),
                .partial(covered: [1], unapplied: [1], published: .zero, beforeReset: .zero),
            ] {
                let plan = try rows.plan(db)
                #expect(plan.filter { $0.contains("TEMP B-TREE") }.count == 1, "\(plan)")
                #expect(plan.contains { $0.contains("ps_oplog_opid (bucket=? AND op_id>?)") }, "\(plan)")
                #expect(plan.contains { $0.contains("ps_oplog_row (row_type=? AND row_id=?)") }, "\(plan)")
            }
            try OplogIndexes.drop(db)
            let amongOperations = try ChangedRows.partialAmong(
                [1...2],
                covered: [1],
                published: .zero,
                beforeReset: .zero
            ).plan(db)
            #expect(amongOperations.filter { $0.contains("TEMP B-TREE") }.count == 1, "\(amongOperations)")
            #expect(
                amongOperations.contains { $0.contains("SEARCH o USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)") }
            )
        }
    }
}
