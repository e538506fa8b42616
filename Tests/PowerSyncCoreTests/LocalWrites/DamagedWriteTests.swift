import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Entries of the upload queue that are not what they should be: each can be read as far as it goes, and nothing waits behind it.
@Suite struct DamagedWriteTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    struct Case: Sendable, CustomTestStringConvertible {
        /// A SQL expression for `ps_crud.data`.
        let testDescription: String
        var kind = QueuedWrite.Kind.patch
        var table = ""
        var rowID = ""
        var data: JSONObject?
        var rawText: String
        /// Words of the reason.
        var reason: String
    }

    private static func text(_ entry: String) -> String { "'\(entry.replacing("'", with: "''"))'" }

    static let cases: [Case] =
        [
            // What json_object of SQLite 3.42 and newer made of an infinity, and of 3.40 of the greatest double.
            (
                #"{"op":"PUT","id":"1","type":"a","data":{"r":9.0e+999,"s":"x"}}"#,
                ["r": "Infinity", "s": "x"] as JSONObject
            ),
            (#"{"op":"PUT","id":"1","type":"a","data":{"r":1.79769313486232e+308}}"#, ["r": "Infinity"]),
            (#"{"op":"PUT","id":"1","type":"a","data":{"r":-Infinity}}"#, ["r": "-Infinity"]),
            (#"{"op":"PUT","id":"1","type":"a","data":{"r":Inf}}"#, ["r": "Infinity"]),
            (#"{"op":"PUT","id":"1","type":"a","data":{"r":NaN}}"#, ["r": .null]),
            (#"{"op":"PUT","id":"1","type":"a","data":{"t":"a\ud800b"}}"#, ["t": "a\u{fffd}b"]),
        ].map { text, data in
            Case(
                testDescription: Self.text(text),
                kind: .put,
                table: "a",
                rowID: "1",
                data: data,
                rawText: text,
                reason: "is not a JSON object"
            )
        }
        + ["", "[]", "null", "5", "{", #"{"op":"PUT","id":"1","type":"a","data":{"t":"#, "<html>", #"{"r":Nope}"#].map {
            Case(testDescription: Self.text($0), rawText: $0, reason: "is not a JSON object")
        }
        + [
            Case(testDescription: "NULL", rawText: "", reason: "is not text"),
            Case(testDescription: "x'ff'", rawText: "\u{fffd}", reason: "is not text"),
            Case(testDescription: "5", rawText: "5", reason: "is not a JSON object"),
            Case(
                testDescription: Self.text(#"{"op":"MERGE","type":"a","id":"1"}"#),
                table: "a",
                rowID: "1",
                rawText: #"{"op":"MERGE","type":"a","id":"1"}"#,
                reason: "no known member 'op'"
            ),
            Case(
                testDescription: Self.text(#"{"op":"PUT","id":"1","data":{"x":1}}"#),
                kind: .put,
                rowID: "1",
                data: ["x": 1],
                rawText: #"{"op":"PUT","id":"1","data":{"x":1}}"#,
                reason: "no text member 'type'"
            ),
            Case(
                testDescription: Self.text(#"{"op":"DELETE","type":"a","id":7}"#),
                kind: .delete,
                table: "a",
                rawText: #"{"op":"DELETE","type":"a","id":7}"#,
                reason: "no text member 'id'"
            ),
            Case(
                testDescription: Self.text(#"{"op":"PUT","type":"a","id":"1","data":[]}"#),
                kind: .put,
                table: "a",
                rowID: "1",
                rawText: #"{"op":"PUT","type":"a","id":"1","data":[]}"#,
                reason: "a member 'data' that is not an object"
            ),
            Case(
                testDescription: #"'{"op":"PUT","type":"a","id":"1","data":{"t":"' || CAST(x'61ff' AS TEXT) || '"}}'"#,
                kind: .put,
                table: "a",
                rowID: "1",
                data: ["t": "a\u{fffd}"],
                rawText: "{\"op\":\"PUT\",\"type\":\"a\",\"id\":\"1\",\"data\":{\"t\":\"a\u{fffd}\"}}",
                reason: "is not a JSON object"
            ),
            Case(
                testDescription: #"'{"op":"PUT","type":"a","id":"1","data":{"t":"' || char(0, 10) || '"}}'"#,
                kind: .put,
                table: "a",
                rowID: "1",
                data: ["t": "\u{0}\n"],
                rawText: "{\"op\":\"PUT\",\"type\":\"a\",\"id\":\"1\",\"data\":{\"t\":\"\u{0}\n\"}}",
                reason: "is not a JSON object"
            ),
        ]

    @Test(arguments: cases) func whatCanBeReadIsRead(_ test: Case) throws {
        try database.write("INSERT INTO ps_crud(tx_id, data) VALUES (7, \(test.testDescription))")
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        let transaction = try database.queue.read { try UploadQueue.nextTransaction($0, after: nil) }
        #expect(transaction == [write])
        #expect(write.id == 1)
        #expect(write.transactionID == 7)
        #expect(write.kind == test.kind)
        #expect(write.table == test.table)
        #expect(write.rowID == test.rowID)
        #expect(write.data == test.data)
        #expect(write.damage?.rawText == test.rawText)
        #expect(write.damage?.reason.contains("entry 1 of the upload queue") == true)
        #expect(write.damage?.reason.contains(test.reason) == true, "\(write.damage?.reason ?? "")")
    }

    @Test func aForeignTransactionIDIsNone() throws {
        try database.write(#"INSERT INTO ps_crud(tx_id, data) VALUES ('x', '{"op":"DELETE","type":"a","id":"1"}')"#)
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.transactionID == nil)
        #expect(write.damage?.reason.contains("ps_crud.tx_id") == true)
    }

    @Test(arguments: cases) func canBeSkipped(_ test: Case) throws {
        try setAside(test, .skip)
    }

    @Test(arguments: cases) func canBeParked(_ test: Case) throws {
        try setAside(test, .park)
    }

    /// Takes a damaged entry out of the queue, and puts it back as it was.
    private func setAside(_ test: Case, _ treatment: RejectedWrites.Treatment) throws {
        try database.write("INSERT INTO ps_crud(tx_id, data) VALUES (0, \(test.testDescription))")
        try database.write("INSERT INTO items(id, col) VALUES ('good', 'x')")
        let stored = try database.rows("SELECT typeof(data), hex(data) FROM ps_crud WHERE id = 1")
        let now = SyncInstant(microseconds: 1)
        let aside = try database.queue.write { db in
            try RejectedWrites.setAside(db, .head(reason: "damaged"), treatment, at: now)
        }
        #expect(aside.rejected.map(\.id) == [1])
        let left = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(left.map(\.rowID) == ["good"])
        let rejected = try database.queue.read { try RejectedWrites.all($0) }
        #expect(rejected.map(\.write) == aside.rejected)
        try database.queue.write { try RejectedWrites.restore($0, [1]) }
        #expect(try database.rows("SELECT typeof(data), hex(data) FROM ps_crud ORDER BY id DESC LIMIT 1") == stored)
    }

    /// Later writes of a row are parked behind a damaged one that names it.
    @Test func laterWritesOfTheRowWait() throws {
        try database.write(
            #"INSERT INTO ps_crud(tx_id, data) VALUES (0, '{"op":"PUT","type":"items","id":"x","data":{"r":NaN}}')"#
        )
        try database.write("INSERT INTO items(id, col) VALUES ('x', '1'), ('y', '2')")
        let aside = try database.queue.write { db in
            try RejectedWrites.setAside(db, .head(reason: "damaged"), .park, at: SyncInstant(microseconds: 1))
        }
        #expect(aside.waiting == 1)
        #expect(try database.queue.read { try UploadQueue.batch($0) }?.writes.map(\.rowID) == ["y"])
    }

    /// Triggers of the application may write what they want into the queue's tables: what could not be read is refused.
    @Test(arguments: [
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', '{\"r\":9e999}')",
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', '{\"r\":1e309}')",
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', '[1]')",
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', json_object('r', 9e999))",
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', json_object('t', CAST(x'ff' AS TEXT)))",
        "INSERT INTO powersync_crud(op, id, type, old_values) VALUES ('PUT', '1', 'a', '{\"r\":NaN}')",
        "INSERT INTO powersync_crud_(data) VALUES ('{')", "INSERT INTO powersync_crud_(data) VALUES (NULL)",
        "INSERT INTO powersync_crud_(data) VALUES ('{\"op\":\"PUT\",\"id\":\"1\",\"type\":\"a\",\"data\":{\"r\":-1e999}}')",
        "INSERT INTO powersync_crud_(data) VALUES (5)",
        "INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '1', 'a', '{} x')",
        "INSERT INTO powersync_crud_(data) VALUES ('{\"op\":\"DELETE\",\"id\":\"1\",\"type\":\"a\"}}')",
    ])
    func nothingUnreadableIsQueued(sql: String) throws {
        expectDatabaseError(3091) { try database.run(sql) }
        #expect(try database.entries().isEmpty)
    }
}
