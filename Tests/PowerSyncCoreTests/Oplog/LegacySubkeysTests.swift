import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct LegacySubkeysTests {
    @Test(
        arguments: [
            (#"todos/1/"s-1""#, #"todos/1/s-1"#),
            (#"todos/1/"""#, #"todos/1/"#),
            (#"todos/1/"a\"b""#, #"todos/1/a"b"#),
            (#"todos/1/"a\\""#, #"todos/1/a\"#),
            (#"todos/1/"a\\\"b""#, #"todos/1/a\"b"#),
            (#"todos/1/"a\\\\""#, #"todos/1/a\\"#),
            (#"todos/1/"é\u0041""#, "todos/1/éA"),
            (#"todos/1/"a\q""#, nil),
            (#"todos/1/"ü/🥖""#, #"todos/1/ü/🥖"#),
            (#"todos/1/s-1"#, nil),
            (#"todos/1/s""#, nil),
            (#"""#, nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func keysAreRepaired(_ key: String, _ expected: String?) throws {
        let repaired = Array(key.utf8).withUnsafeBytes { LegacySubkeys.repaired($0) }
        #expect(repaired.map { String(decoding: $0, as: UTF8.self) } == expected)
        // The function that apps may call is the same.
        let function = "SELECT powersync_remove_duplicate_key_encoding(?)"
        #expect(try LocalTestDatabase().texts(function, [key]) == [expected])
    }

    @Test func theFirstStartRepairsKeysOnce() throws {
        let scenario = try SyncScenario()
        try scenario.database.write(
            """
            INSERT INTO ps_buckets (id, name) VALUES (1, 'a');
            INSERT INTO ps_oplog (bucket, op_id, row_type, row_id, key, data, hash)
            VALUES (1, 1, 'items', 'x', 'items/x/"s"', '{}', 1), (1, 2, 'items', 'y', 'items/y/null', '{}', 1)
            """
        )
        try scenario.start()
        #expect(try scenario.oplog == ["a|1|items/x/s|1", "a|2|items/y/null|1"])
        // From now on a quotation mark at the end is part of the subkey.
        try scenario.receive(.ops("a", .put(3, "z", subkey: #""q""#)))
        try scenario.start()
        #expect(try scenario.oplog.last == #"a|3|items/z/"q"|0"#)
    }

    @Test func clearingDoesNotRepeatTheRepair() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a", checksum: 1)]),
            .ops("a", .put(1, "x", 1, subkey: #""q""#), .put(2, "y")),
            .done
        )
        try scenario.send(.stop)
        try scenario.write { try LocalData.clear($0, .soft) }
        try scenario.start()
        #expect(try scenario.oplog == [#"a|1|items/x/"q"|1"#, "a|2|items/y/null|0"])
        let removal = Operation(kind: .remove, opID: 3, id: "x", checksum: 2, type: "items", subkey: #""q""#)
        try scenario.receive(.checkpoint(3, [.bucket("a", checksum: 3)]), .ops("a", removal), .done)
        #expect(try scenario.itemIDs == ["y"])
    }
}
