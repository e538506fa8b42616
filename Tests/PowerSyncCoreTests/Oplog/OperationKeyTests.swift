import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Which operations take each other's place: those with one key (docs/client-sync.md "Storing operations").
@Suite struct OperationKeyTests {
    @Test(arguments: Delivery.allCases)
    func subkeysTellOperationsOfOneRowApart(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(
            .checkpoint(2, [.bucket("a", checksum: 30)]),
            .ops(
                "a",
                .put(1, "a", 10, subkey: "x", data: #"{"v":1}"#),
                .put(2, "a", 20, subkey: "y", data: #"{"v":2}"#)
            ),
            .done
        )
        #expect(try scenario.oplog == ["a|1|items/a/x|10", "a|2|items/a/y|20"])
        #expect(try scenario.checksums() == "0|30")
        #expect(try scenario.items == [#"a|{"v":2}"#])
    }

    @Test
    func absentSubkeyAndTheTextNullMakeTheSameKey() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.ops("a", .put(1, "a"), .put(2, "a", subkey: "null")))
        #expect(try scenario.oplog == ["a|2|items/a/null|0"])
    }

    @Test
    func keysAreComparedAsAWholeSoComponentsMayContainSlashes() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(
            .checkpoint(2, [.bucket("a", checksum: 3)]),
            .ops("a", .put(1, "b/c", 1, type: "a", subkey: "d"), .put(2, "c", 2, type: "a/b", subkey: "d")),
            .done
        )
        #expect(try scenario.database.rows("SELECT key, row_type, row_id FROM ps_oplog") == ["a/b/c/d|a/b|c"])
        #expect(try scenario.checksums() == "1|2")
    }

    @Test(
        arguments: [
            (Operation.put(1, "s/t", 1, type: "r"), Operation.put(2, "t", 2, type: "r/s")),
            (.put(1, "t", 1, type: "r/s"), .put(2, "s", 2, type: "r", subkey: "t/null")),
            (.put(1, "s/t", 1, type: "r"), .put(2, "s", 2, type: "r", subkey: "t/null")),
            (.put(1, "s/t", 1, type: "r"), .remove(2, "t", 2, type: "r/s")),
        ],
        [false, true]
    )
    func rowThatIsReplacedByAnotherOneWithTheSameKeyDisappears(
        _ operations: (Operation, Operation),
        _ isPublishedBetween: Bool
    ) throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a", checksum: 1)]), .ops("a", operations.0))
        if isPublishedBetween { try scenario.receive(.done) }
        try scenario.receive(.diff(2, [.bucket("a", checksum: 3)]), .ops("a", operations.1), .done)
        let second = operations.1
        let expected = second.kind == .put ? ["\(second.type ?? "")|\(second.id ?? "")"] : []
        #expect(try scenario.database.rows("SELECT row_type, row_id FROM ps_oplog") == expected)
        #expect(try scenario.database.rows("SELECT type, id FROM ps_untyped") == expected)
    }

    /// Nothing in the file forbids them, so other implementations may have left some.
    @Test(
        arguments: [Operation.put(3, "x", 4), .remove(3, "x", 4)],
        [1, .max] as [Int64]
    )
    func operationTakesThePlaceOfAllRowsThatHaveItsKey(_ operation: Operation, _ bulkLoadThreshold: Int64) throws {
        let scenario = try SyncScenario(bulkLoadThreshold: bulkLoadThreshold)
        try scenario.database.write(
            """
            INSERT INTO ps_buckets (id, name, last_op, op_checksum) VALUES (1, 'a', 2, 3);
            INSERT INTO ps_oplog (bucket, op_id, row_type, row_id, key, data, hash)
            VALUES (1, 1, 'items', 'x', 'items/x/null', '{}', 1), (1, 2, 'items', 'x', 'items/x/null', '{}', 2)
            """
        )
        try scenario.start()
        try scenario.receive(.checkpoint(3, [.bucket("a", checksum: 7, count: 9)]), .ops("a", operation))
        let isPut = operation.kind == .put
        #expect(try scenario.oplog == (isPut ? ["a|3|items/x/null|4"] : []))
        #expect(try scenario.checksums() == (isPut ? "3|4" : "7|0"))
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == (isPut ? ["x"] : []))
    }
}
