import Testing

@testable import PowerSyncCore

@Suite struct LegacySubkeysTests {
    @Test(
        arguments: [
            (#"todos/1/"s-1""#, #"todos/1/s-1"#),
            (#"todos/1/"""#, #"todos/1/"#),
            (#"todos/1/"a\"b""#, #"todos/1/a"b"#),
            (#"todos/1/"a\\""#, #"todos/1/a\"#),
            (#"todos/1/"ü/🥖""#, #"todos/1/ü/🥖"#),
            (#"todos/1/s-1"#, nil),
            (#"todos/1/s""#, nil),
            (#"""#, nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func keysAreRepaired(_ key: String, _ expected: String?) {
        #expect(LegacySubkeys.repaired(key) == expected)
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
}
