import GRDB
import PowerSyncUpload
import Testing

@testable import PowerSyncBackend

/// What is applied of a request, and who decides.
@Suite struct SQLiteUploadApplierTests {
    private struct Broken: Error {}

    @Test func anEmptyRequestAppliesNothing() async throws {
        let scenario = try UploadScenario()
        #expect(try await scenario.apply([]) == UploadResponse(appliedThrough: nil))
    }

    @Test func numbersThatDoNotAscendAreRefused() async throws {
        let scenario = try UploadScenario()
        await #expect(throws: UploadFormatError.self) {
            try await scenario.apply([UploadScenario.put(2, "a"), UploadScenario.put(2, "b")])
        }
        #expect(try await scenario.log().isEmpty)
    }

    @Test func aRejectionEndsTheRequest() async throws {
        let scenario = try UploadScenario { write, _ in
            write.entry.id == "bad" ? .reject("Not yours.") : .apply
        }
        let response = try await scenario.apply([
            UploadScenario.put(1, "a"),
            UploadScenario.put(2, "b", transaction: 5), UploadScenario.put(3, "bad", transaction: 5),
            UploadScenario.put(4, "c", transaction: 5),
            UploadScenario.put(5, "bad"),
        ])
        #expect(response.appliedThrough == 1)
        let because = "Write 3 of the same transaction: Not yours."
        #expect(
            response.rejections == [
                EntryRejection(operationID: 2, .transactionRejected, message: because),
                EntryRejection(operationID: 3, .forbidden, message: "Not yours."),
                EntryRejection(operationID: 4, .transactionRejected, message: because),
            ]
        )
        #expect(try await scenario.log() == ["+a"])
    }

    /// A client reads 16 MiB and 512 bytes for each write.
    @Test(
        arguments: [String(repeating: "t", count: 1 << 20), "lists"],
        [UploadApplierOptions.RejectionScope.transaction, .entry]
    )
    func theAnswerIsShort(table: String, scope: UploadApplierOptions.RejectionScope) async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = scope
        let scenario = try UploadScenario(options: options) { write, _ in
            write.entry.id == "1" ? .reject(String(repeating: "m", count: 1_000)) : .apply
        }
        var entries = (1...1_000 as ClosedRange<Int64>).map { UploadScenario.put($0, "\($0)", transaction: 1) }
        for index in [5, 500] {
            entries[index] = UploadScenario.put(Int64(index + 1), "x", transaction: 1, table: table)
        }
        let response = try await scenario.apply(entries)
        #expect(!response.rejections.isEmpty)
        #expect(response.json.count < 512 * entries.count)
    }

    @Test func aRejectedWriteMayBeLeftOutAlone() async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = .entry
        let scenario = try UploadScenario(options: options) { write, db in
            guard write.entry.id.hasPrefix("bad") else { return .apply }
            // What the closure itself has written goes, too.
            try db.execute(sql: "INSERT INTO log(what) VALUES ('closure')")
            return .reject("Not yours.")
        }
        let entries = [
            UploadScenario.put(1, "a", transaction: 5), UploadScenario.put(2, "bad1", transaction: 5),
            UploadScenario.put(3, "b", transaction: 5), UploadScenario.put(4, "bad2", transaction: 5),
            UploadScenario.put(5, "c"),
        ]
        let response = try await scenario.apply(entries)
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.operationID) == [2, 4])
        #expect(try await scenario.log() == ["+a", "+b"])
        // What is left comes again.
        #expect(try await scenario.apply([entries[0], entries[2], entries[4]]).appliedThrough == 5)
        #expect(try await scenario.log() == ["+a", "+b", "+c"])
    }

    @Test func aRejectedTransactionMayBeAcceptedLater() async throws {
        let scenario = try UploadScenario { write, db in
            try write.storedRow(db) == nil ? .reject("There is no such list.") : .apply
        }
        let entry = UploadScenario.put(1, "a")
        #expect(try await scenario.apply([entry]).rejections.count == 1)
        try await scenario.database.write { db in try db.execute(sql: "INSERT INTO lists(id) VALUES ('a')") }
        #expect(try await scenario.apply([entry]) == UploadResponse(appliedThrough: 1))
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    @Test(
        arguments: ["UTF-8", "UTF-16le", "UTF-16be"],
        ["a", "a\u{0}b", "ä😀"]
    )
    func rowsAreFoundInEveryEncoding(_ encoding: String, _ id: String) async throws {
        let scenario = try UploadScenario(encoding: encoding) { write, db in
            guard let list = try write.storedRow(db) else { return .apply }
            let owner: String? = list["owner_id"]
            return owner == write.user.id ? .apply : .reject("The list belongs to somebody else.")
        }
        func write(_ number: Int64, _ op: UpdateType, _ data: JsonParam?, suffix: String = "") -> UploadEntry {
            UploadEntry(operationID: number, op: op, table: "lists", id: id + suffix, transactionID: number, data: data)
        }
        // Found by all of the id, not by what is before a NUL.
        try await scenario.apply([
            write(1, .put, ["owner_id": .string("u1")]),
            write(2, .put, ["owner_id": .string("u2")], suffix: "\u{0}"),
        ])
        let attempts: [JsonParam?] = [["owner_id": .string("u2")], nil]
        for data in attempts {
            let attempt = write(1, data == nil ? .delete : .patch, data)
            let response = try await scenario.apply([attempt], client: "c2", user: "u2")
            #expect(response.rejections.map(\.code) == [.forbidden])
        }
        #expect(try await scenario.apply([write(3, .patch, ["name": .string("mine")])]).rejections.isEmpty)
        let stored = try await scenario.database.read { db in
            try String.fetchAll(db, sql: "SELECT ifnull(name, '') || ' of ' || owner_id FROM lists ORDER BY id")
        }
        #expect(stored == ["mine of u1", " of u2"])
        let used = try await scenario.database.read { db in try String.fetchOne(db, sql: "PRAGMA encoding") }
        #expect(used == encoding)
    }

    @Test func anAuthorisationThatThrowsLeavesItsTransactionForLater() async throws {
        let scenario = try UploadScenario { write, _ in
            if write.entry.id == "bad" { throw Broken() }
            return .apply
        }
        let entries = [
            UploadScenario.put(1, "a"), UploadScenario.put(2, "b", transaction: 1),
            UploadScenario.put(3, "bad", transaction: 1), UploadScenario.put(4, "c"),
        ]
        // What is before it is not held up.
        #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 1))
        await #expect(throws: Broken.self) { try await scenario.apply(Array(entries.dropFirst())) }
        #expect(try await scenario.log() == ["+a"])
        #expect(try await scenario.rememberedWrites() == 1)
    }

    @Test func decisionsMayChangeValuesAndDoTheWorkThemselves() async throws {
        let scenario = try UploadScenario { write, db in
            guard write.entry.table == "lists" else {
                try db.execute(sql: "INSERT INTO log(what) VALUES (?)", arguments: [write.entry.id])
                return .done
            }
            var values = write.entry.data ?? [:]
            values["owner_id"] = .string(write.user.id)
            return .apply(values)
        }
        try await scenario.apply([UploadScenario.put(1, "a"), UploadScenario.put(2, "event", table: "log")])
        #expect(try await scenario.log().isEmpty == false)
        let owner = try await scenario.database.read { db in try String.fetchOne(db, sql: "SELECT owner_id FROM lists")
        }
        #expect(owner == "u1")
    }

    @Test func theClosureSeesEverythingThatTheClientKnows() async throws {
        let expected = UploadEntry(
            operationID: 9,
            op: .patch,
            table: "lists",
            id: "a",
            transactionID: 4,
            data: ["name": .string("new")],
            previousValues: ["name": .string("old")],
            metadata: "typed"
        )
        let scenario = try UploadScenario { write, db in
            guard write.entry.op == .patch else { return .apply }
            let stored: String? = try write.storedRow(db).flatMap { $0["name"] }
            let isExpected =
                write.entry == expected && write.clientID == "c1" && stored == "old"
                && write.user == BackendUser(id: "u1", claims: ["role": .string("admin")])
            return isExpected ? .apply : .reject("\(write), \(stored ?? "nil")")
        }
        let request = UploadRequest(
            clientID: "c1",
            entries: [UploadScenario.put(8, "a", transaction: 4, name: "old"), expected]
        )
        let user = BackendUser(id: "u1", claims: ["role": .string("admin")])
        #expect(try await scenario.applier.apply(UploadRequest(json: request.json), for: user).rejections == [])
    }

    /// Values of tasks.
    private enum Caller {
        @TaskLocal static var name = "nobody"
    }

    /// What was found of a row and of its table before a decision holds only as long as the decision changes neither.
    @Test(
        arguments: [
            // It gives the row away, and takes it back.
            ("mine", "UPDATE t SET owner = 'u2' WHERE id = 'mine'", false),
            ("theirs", "UPDATE t SET owner = 'u1' WHERE id = 'theirs'", true),
            // It removes the row, and stores another one.
            ("mine", "DELETE FROM t", false), ("theirs", "DELETE FROM t", false),
            ("theirs", "REPLACE INTO t(id, owner) VALUES ('theirs', 'u1')", true),
            ("new", "INSERT INTO t(id, owner) VALUES ('new', 'u1')", true),
            // By a trigger, by a reference, and with another table of the name.
            ("theirs", "DELETE FROM log", true), ("mine", "DELETE FROM parents", false),
            ("mine", "DROP TABLE t; CREATE TABLE t (id TEXT PRIMARY KEY, owner, name)", false),
            ("mine", "ALTER TABLE t RENAME COLUMN owner TO old; ALTER TABLE t ADD COLUMN owner", false),
            // What it rolls back it has not changed.
            ("mine", "SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; RELEASE s", true),
        ] as [(String, String, Bool)]
    )
    func decisionsSeeWhatTheyHaveChanged(id: String, statement: String, isMine: Bool) async throws {
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE parents (id TEXT PRIMARY KEY);
                CREATE TABLE t (id TEXT PRIMARY KEY, owner, name, parent REFERENCES parents ON DELETE CASCADE);
                CREATE TABLE log (id INTEGER PRIMARY KEY);
                CREATE TRIGGER given AFTER DELETE ON log BEGIN UPDATE t SET owner = 'u1'; END;
                INSERT INTO parents VALUES ('p');
                INSERT INTO t VALUES ('mine', 'u1', 'old', 'p'), ('theirs', 'u2', 'old', 'p');
                INSERT INTO log VALUES (1);
                """,
            authorize: { write, db in
                try db.execute(sql: statement)
                return try write.belongsToUser(by: "owner", db) ? .apply : .reject("Not yours.")
            }
        )
        let patch = UploadEntry(operationID: 1, op: .put, table: "t", id: id, data: ["name": .string("new")])
        let response = try await scenario.apply([patch])
        #expect(response.rejections.map(\.code) == (isMine ? [] : [.forbidden]))
        let name = try await scenario.database.read { db in
            try String.fetchOne(db, sql: "SELECT name FROM t WHERE id = ?", arguments: [id])
        }
        #expect(name == (isMine ? "new" : id == "new" ? nil : "old"))
    }

    @Test func decisionsMayChangeTheSchema() async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = .entry
        let scenario = try UploadScenario(
            schema: "CREATE TABLE t (id TEXT PRIMARY KEY, owner, a); INSERT INTO t VALUES ('first', 'u1', 0)",
            options: options,
            authorize: { write, db in
                let column = write.entry.metadata ?? ""
                guard !column.isEmpty else { return .apply }
                try db.execute(sql: "ALTER TABLE t ADD COLUMN \(column)")
                // The table is looked at with the new column.
                let isThere = try write.userOwns("first", in: "t", by: "owner", db)
                return isThere && write.entry.id != "rejected" ? .apply : .reject("Not yours.")
            }
        )
        func put(_ number: Int64, _ id: String, _ column: String, adds: String? = nil) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: .put,
                table: "t",
                id: id,
                transactionID: 1,
                data: [column: .int(Int(number))],
                metadata: adds
            )
        }
        let response = try await scenario.apply([
            put(1, "first", "a"), put(2, "second", "b", adds: "b"),
            // The column goes with the rejected write, and its version of the schema comes again.
            put(3, "rejected", "c", adds: "c"), put(4, "third", "d", adds: "d"), put(5, "fourth", "c"),
        ])
        #expect(response.rejections.map(\.operationID) == [3, 5])
        #expect(response.rejections.map(\.code) == [.forbidden, .unknownColumn])
        let rows = try await scenario.database.read { db in
            try String.fetchAll(db, sql: "SELECT id || ' ' || coalesce(a, b, d) FROM t ORDER BY 1")
        }
        #expect(rows == ["first 1", "second 2", "third 4"])
    }

    @Test func decisionsAreMadeOutsideOfAnyTask() async throws {
        let scenario = try UploadScenario { _, _ in
            let task = withUnsafeCurrentTask { $0 == nil ? "no task" : "a task" }
            return .apply(["name": .string("\(Caller.name) in \(task)")])
        }
        try await Caller.$name.withValue("anna") { try await scenario.apply([UploadScenario.put(1, "a")]) }
        let name = try await scenario.database.read { db in try String.fetchOne(db, sql: "SELECT name FROM lists") }
        #expect(name == "nobody in no task")
    }

    @Test func referencesThatAreCheckedAtTheCommitAreARejection() async throws {
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE lists (id TEXT PRIMARY KEY, name);
                CREATE TABLE todos (
                  id TEXT PRIMARY KEY,
                  list_id TEXT REFERENCES lists(id) DEFERRABLE INITIALLY DEFERRED
                );
                """
        )
        func todo(_ number: Int64, _ list: String, transaction: Int64) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: .put,
                table: "todos",
                id: "t\(number)",
                transactionID: transaction,
                data: ["list_id": .string(list)]
            )
        }
        let response = try await scenario.apply([
            todo(1, "a", transaction: 1), UploadScenario.put(2, "a", transaction: 1), todo(3, "b", transaction: 2),
        ])
        #expect(response.appliedThrough == 2)
        #expect(response.rejections.map(\.operationID) == [3])
        #expect(response.rejections.map(\.code) == [.constraint])
    }

    @Test(arguments: [UploadApplierOptions.RejectionScope.transaction, .entry])
    func aTriggerThatRollsBackTheWholeTransactionLosesNothing(scope: UploadApplierOptions.RejectionScope) async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = scope
        let scenario = try UploadScenario(
            schema: UploadScenario.schema + """
                CREATE TRIGGER refused BEFORE INSERT ON lists WHEN NEW.id = 'bad' BEGIN
                  SELECT RAISE(ROLLBACK, 'refused by a trigger');
                END;
                """,
            options: options
        )
        let entries = [UploadScenario.put(1, "a"), UploadScenario.put(2, "bad"), UploadScenario.put(3, "c")]
        let response = try await scenario.apply(entries)
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.operationID) == [2])
        #expect(response.rejections.first?.message.contains("refused by a trigger") == true)
        #expect(try await scenario.log().isEmpty)
        #expect(try await scenario.apply([entries[0], entries[2]]) == UploadResponse(appliedThrough: 3))
    }

    @Test func tenThousandWritesAreOneTransaction() async throws {
        let bad = "5000"
        let scenario = try UploadScenario { write, _ in
            write.entry.id == bad && write.entry.metadata == nil ? .reject("no") : .apply
        }
        var entries = (1...10_000).map { UploadScenario.put(Int64($0), "\($0)", transaction: 1) }
        let refused = try await scenario.apply(entries)
        #expect(refused.appliedThrough == nil && refused.rejections.count == 10_000)
        #expect(refused.rejections.filter { $0.code == .forbidden }.map(\.operationID) == [5000])
        #expect(try await scenario.log().isEmpty)

        entries[4_999].metadata = "approved"
        for _ in 0..<2 {
            #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 10_000))
            #expect(try await scenario.log().count == 10_000)
        }
    }
}
