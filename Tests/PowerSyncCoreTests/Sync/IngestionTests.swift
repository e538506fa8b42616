import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Storing operations (docs/client-sync.md "Storing operations").
@Suite struct IngestionTests {
    @Test(arguments: Delivery.allCases)
    func workedExampleLineByLine(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(.ops("a", .put(1, "a", 10, type: "t"), .put(2, "b", 20, type: "t")))
        #expect(try scenario.checksums() == "0|30")
        #expect(try scenario.bucket("last_op") == 2)
        #expect(try scenario.oplog == ["a|1|t/a/null|10", "a|2|t/b/null|20"])

        try scenario.receive(.ops("a", .put(3, "a", 5, type: "t"), .remove(4, "b", 7, type: "t")))
        #expect(try scenario.checksums() == "37|5")
        #expect(try scenario.bucket("last_op") == 4)
        #expect(try scenario.oplog == ["a|3|t/a/null|5"])
        #expect(try scenario.updatedRows == ["t|b"])

        try scenario.receive(.ops("a", .move(5, 0xffff_ffff)))
        #expect(try scenario.checksums() == "36|5")

        try scenario.receive(.ops("a", .clear(6, 41), .put(7, "c", 1, type: "t")))
        #expect(try scenario.checksums() == "41|1")
        #expect(try scenario.bucket("last_op") == 7)
        #expect(try scenario.bucket("last_applied_op") == 0)
        #expect(try scenario.updatedRows == ["t|a", "t|b"])
        #expect(try scenario.oplog == ["a|7|t/c/null|1"])
    }

    @Test
    func putSupersedesAnEarlierOneOfTheSameLine() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .put(1, "a", 10), .put(2, "a", 20)))
        #expect(try scenario.oplog == ["a|2|items/a/null|20"])
        #expect(try scenario.checksums() == "10|20")
    }

    @Test
    func removeOfAnUnknownKey() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .remove(1, "a", 9)))
        #expect(try scenario.checksums() == "9|0")
        #expect(try scenario.updatedRows.isEmpty)
    }

    @Test(arguments: Delivery.allCases)
    func removedRowStaysVisibleUntilTheNextCompleteCheckpoint(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "a")), .done)
        try scenario.receive(.diff(2, [.bucket("a")]), .ops("a", .remove(2, "a")))
        #expect(try scenario.oplog.isEmpty)
        #expect(try scenario.updatedRows == ["items|a"])
        #expect(try scenario.itemIDs == ["a"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs.isEmpty)
        #expect(try scenario.updatedRows.isEmpty)
    }

    /// Buckets that were compacted begin with CLEAR, which would read all of the table for each of them.
    @Test
    func whatIsInABucketIsLookedForOnlyIfThereCanBeSomething() throws {
        let scenario = try SyncScenario.started()
        let lines: [(line: SyncLine, isEmpty: Bool)] = [
            (.ops("a"), true), (.ops("a", .remove(1, "x")), true), (.ops("a", .put(2, "x")), false),
            (.ops("a", .remove(3, "x")), false), (.ops("a", .clear(4)), true), (.ops("a", .put(5, nil)), false),
            (.ops("a", .clear(6), .put(7, "x")), false), (.ops("a", .put(8, "y"), .clear(9)), true),
        ]
        for (line, isEmpty) in lines {
            try scenario.receive(line)
            #expect(scenario.engine.file.buckets.rows.map(\.isKnownEmpty) == [isEmpty])
        }
        #expect(try scenario.oplog.isEmpty)
    }

    @Test
    func putAndREMOVEInTheFirstLineOfANewBucket() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(
            .checkpoint(2, [.bucket("a", checksum: 7)]),
            .ops("a", .put(1, "a", 3), .remove(2, "a", 4))
        )
        #expect(try scenario.oplog.isEmpty)
        #expect(try scenario.checksums() == "7|0")
        try scenario.receive(.done)
        #expect(try scenario.items.isEmpty)
    }

    @Test(arguments: Delivery.allCases)
    func clearOfAnAppliedBucket(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(.checkpoint(2, [.bucket("a")]), .ops("a", .put(1, "a"), .put(2, "b")), .done)
        #expect(try scenario.bucket("last_applied_op") == 2)
        try scenario.receive(
            .diff(4, [.bucket("a", checksum: 5)]),
            .ops("a", .clear(3, 5), .put(4, "b", data: #"{"v":2}"#))
        )
        #expect(try scenario.updatedRows == ["items|a", "items|b"])
        #expect(try scenario.bucket("last_applied_op") == 0)
        #expect(try scenario.itemIDs == ["a", "b"])
        try scenario.receive(.done)
        #expect(try scenario.items == [#"b|{"v":2}"#])
    }

    @Test
    func clearAndCompletionInOneTransaction() throws {
        let scenario = try SyncScenario.started(.batched)
        try scenario.receive(.checkpoint(2, [.bucket("a")]), .ops("a", .put(1, "a"), .put(2, "b")), .done)
        // `b` comes back with an op id that was applied before: only last_applied_op = 0 makes it due.
        try scenario.receive(
            .diff(3, [.bucket("a", checksum: 5)]),
            .ops("a", .clear(2, 5), .put(2, "b", data: #"{"v":2}"#)),
            .done
        )
        #expect(try scenario.items == [#"b|{"v":2}"#])
    }

    @Test
    func clearTakesAChecksumWhoseSignedFormIsNegative() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .clear(1, 0xffff_fff0), .move(2, 0x20)))
        #expect(try scenario.checksums() == "16|0")
    }

    @Test
    func checksumsWrapAround() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .put(1, "a", 0xffff_ffff), .put(2, "b", 2)))
        try scenario.receive(.ops("a", .move(3, 0xffff_ffff)), .ops("a", .move(4, 3)))
        #expect(try scenario.checksums() == "2|1")
        #expect(try scenario.oplog == ["a|1|items/a/null|-1", "a|2|items/b/null|2"])
    }

    @Test(arguments: Delivery.allCases)
    func lineThatArrivesTwiceMakesTheChecksumWrong(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        let line = SyncLine.ops("a", .put(1, "a", 10))
        try scenario.receive(.checkpoint(1, [.bucket("a", checksum: 10)]), line, line)
        #expect(try scenario.checksums() == "10|10")
        let actions = try scenario.receive(.done)
        #expect(actions.last == .closeStream(hideDisconnect: false))
        #expect(try scenario.bucketNames.isEmpty)
        #expect(try scenario.items.isEmpty)
    }

    @Test
    func opIdsAreNotComparedWithLastOp() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .put(5, "a", 1)), .ops("a", .put(3, "b", 2), .put(5, "c", 4)))
        #expect(try scenario.oplog.count == 3)
        #expect(try scenario.bucket("last_op") == 5)
        #expect(try scenario.checksums() == "0|7")
    }

    @Test
    func operationsBelowWhatWasAppliedArePublishedByTheNextCompleteCheckpoint() throws {
        let scenario = try SyncScenario.started()
        // Nothing but a mistake of the service announces an op id that its operations have not reached.
        try scenario.receive(.checkpoint(.max, [.bucket("a")]), .ops("a", .put(5, "a")), .done)
        try scenario.receive(.diff(8, [.bucket("a")]), .ops("a", .put(6, "a"), .put(7, "b")), .done)
        #expect(try scenario.itemIDs == ["a", "b"])
        try scenario.receive(.diff(9, [.bucket("a")]), .ops("a", .remove(9, "b")), .done)
        #expect(try scenario.itemIDs == ["a"])
    }

    @Test
    func emptyLineCreatesTheBucketAndNothingElse() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a"))
        #expect(try scenario.bucketNames == ["a"])
        #expect(try scenario.bucket("last_op") == 0)
        #expect(try scenario.bucket("downloaded_size") == 0)
    }

    @Test
    func dataOfABucketThatIsNotTrackedIsStored() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a", count: 3)]))
        let before = scenario.status
        #expect(try scenario.receive(.ops("other", .put(1, "a"))).kinds.isEmpty)
        #expect(scenario.status == before)
        #expect(try scenario.oplog == ["other|1|items/a/null|0"])
    }

    @Test
    func dataBeforeAnyCheckpointIsStored() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .put(1, "a")))
        #expect(try scenario.oplog.count == 1)
        #expect(scenario.engine.isActive)
    }

    @Test
    func lengthOfLinesAddsUp() throws {
        let scenario = try SyncScenario.started()
        for (length, sum) in [(186, 186), (192, 378)] {
            let line = ReceivedLine(line: .ops("a", .move(1)), byteCount: length)
            try scenario.send(.line(line))
            #expect(try scenario.bucket("downloaded_size") == Int64(sum))
        }
        #expect(try scenario.bucket("count_since_last") == 2)
    }

    @Test(arguments: Delivery.allCases)
    func putWithoutDataDeletesTheRow(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "a")), .done)
        #expect(try scenario.itemIDs == ["a"])
        try scenario.receive(.diff(2, [.bucket("a")]), .ops("a", .put(2, "a", data: nil)), .done)
        #expect(try scenario.itemIDs.isEmpty)
        #expect(try scenario.oplog == ["a|2|items/a/null|0"])
    }

    @Test(arguments: Delivery.allCases)
    func putWithoutRowIdCountsAndIsNeverShown(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(
            .checkpoint(3, [.bucket("a", checksum: 7)]),
            .ops("a", .put(1, nil, 3), .put(2, "a", 4, type: nil), .put(3, "b")),
            .done
        )
        #expect(
            try scenario.database.rows("SELECT op_id FROM ps_oplog WHERE key IS NULL AND row_id IS NULL").count == 2
        )
        #expect(try scenario.itemIDs == ["b"])
        #expect(try scenario.database.rows("SELECT * FROM ps_untyped").isEmpty)
        #expect(scenario.status.hasSynced == true)
    }

    @Test
    func nothingOfALineIsCommittedWhenSQLiteFailsInTheMiddle() throws {
        let scenario = try SyncScenario.started()
        try scenario.database.write(
            """
            CREATE TRIGGER fail BEFORE INSERT ON ps_oplog WHEN NEW.op_id = 2
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """
        )
        let error = #expect(throws: SyncEngineError.self) {
            try scenario.receive(.ops("a", .put(1, "a"), .put(2, "b"), .put(3, "c")))
        }
        #expect(error?.code == .database)
        #expect(error?.isRetriable == false)
        #expect(try scenario.oplog.isEmpty)
        #expect(try scenario.bucketNames.isEmpty)

        // The engine's memory was not touched either: the same line works once the cause is gone.
        try scenario.database.write("DROP TRIGGER fail")
        try scenario.receive(.ops("a", .put(1, "a"), .put(2, "b"), .put(3, "c")))
        #expect(try scenario.oplog.count == 3)
        #expect(try scenario.bucket("count_since_last") == 3)
    }

    @Test
    func textsAreStoredByteByByte() throws {
        let scenario = try SyncScenario.started()
        let data = #"{"title":"Brød – 麵包 🥖","nul":"a"# + "\u{0}" + #"b"}"#
        try scenario.receive(
            .ops("a", .put(1, "é", data: data), .put(2, "e\u{301}", data: ""), .put(3, "", data: "{}"))
        )
        // Compared as bytes: for `String`, two of the ids are equal.
        let rows = try scenario.database.rows("SELECT hex(row_id), hex(data) FROM ps_oplog ORDER BY op_id")
        #expect(rows == [("é", data), ("e\u{301}", ""), ("", "{}")].map { hex($0) + "|" + hex($1) })
    }

    private func hex(_ text: String) -> String {
        text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }

    @Test(arguments: LocalTestDatabase.encodings, [false, true])
    func rowsComeAndGoWhateverTheEncodingOfTheFile(_ encoding: String, isBulkLoad: Bool) throws {
        let database = try LocalTestDatabase(.items(), encoding: encoding)
        let scenario = SyncScenario(database: database, bulkLoadThreshold: isBulkLoad ? 1 : nil)
        try scenario.start()
        try scenario.receive(
            .checkpoint(4, [.bucket("a", count: 4)]),
            .ops("a", .put(1, "é", data: #"{"col":"old"}"#), .put(2, "麵", data: #"{"col":"🥖"}"#)),
            .ops("a", .put(3, "é", data: #"{"col":"Brød"}"#), .put(4, "y"))
        )
        // Found as the same row: another one with its key would have been noted.
        #expect(try scenario.updatedRows.isEmpty)
        try scenario.receive(.done)
        #expect(Set(try scenario.items) == [#"é|{"col":"Brød"}"#, #"麵|{"col":"🥖"}"#, "y|{}"])
        try scenario.receive(
            .diff(6, [.bucket("a", count: 6)]),
            .ops("a", .put(5, "é", data: #"{"col":"麵包"}"#), .remove(6, "麵"))
        )
        #expect(try scenario.updatedRows == ["items|麵"])
        try scenario.receive(.done)
        #expect(try database.rows("SELECT id, col FROM items WHERE id <> 'y'") == ["é|麵包"])
        #expect(try database.rows("SELECT * FROM ps_oplog").count == 2)
    }

    @Test
    func whatIsLongerThanTheConnectionAllowsIsRefusedAndNotStoredAsNULL() throws {
        let scenario = try SyncScenario.started()
        scenario.database.limitLength(to: 10_000)
        let long = String(repeating: "x", count: 20_000)
        for operation in [Operation.put(2, "b", data: "{\"col\":\"\(long)\"}"), .put(2, long)] {
            let error = #expect(throws: SyncEngineError.self) {
                try scenario.receive(.ops("a", .put(1, "a"), operation))
            }
            #expect(error?.code == .database)
            #expect(error?.databaseError?.resultCode == .SQLITE_TOOBIG)
            #expect(error?.description.contains("too big") == true)
            #expect(try scenario.oplog.isEmpty)
            #expect(try scenario.bucketNames.isEmpty)
        }
        try scenario.receive(.ops("a", .put(1, "a")))
        #expect(try scenario.oplog.count == 1)
    }

    @Test
    func rangeOutsideOfTheLineIsAnErrorNotACrash() throws {
        let scenario = try SyncScenario.started()
        var line = DataLine.line("a", [.put(1, "a")])
        line.operations[0].data?.count = 1000
        let error = #expect(throws: SyncEngineError.self) { try scenario.receive(.data(line)) }
        #expect(error?.code == .protocol)
        #expect(try scenario.oplog.isEmpty)
    }
}
