import PowerSyncBackend
import Testing

/// What is applied of a request, and who decides.
@Suite(.timeLimit(.minutes(2))) struct ApplierTests {
    private typealias Scenario = ApplierScenario
    private struct Broken: Error {}

    @Test(arguments: Kind.allCases) func anEmptyRequestAppliesNothing(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        #expect(try await scenario.apply([]) == UploadResponse(appliedThrough: nil))
    }

    @Test(arguments: Kind.allCases) func numbersThatDoNotAscendAreRefused(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        await #expect(throws: UploadFormatError.self) {
            try await scenario.apply([Scenario.put(2, "a"), Scenario.put(2, "b")])
        }
        #expect(try await scenario.log().isEmpty)
    }

    @Test(arguments: Kind.allCases) func aRejectionEndsTheRequest(_ kind: Kind) async throws {
        let scenario = try await Scenario(
            kind,
            rule: .about { $0.id == "bad" ? .reject("Not yours.") : .apply }
        )
        let response = try await scenario.apply([
            Scenario.put(1, "a"),
            Scenario.put(2, "b", transaction: 5), Scenario.put(3, "bad", transaction: 5),
            Scenario.put(4, "c", transaction: 5),
            Scenario.put(5, "bad"),
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

    @Test(arguments: Kind.allCases, [UploadApplierOptions.RejectionScope.transaction, .entry])
    func theAnswerIsShort(_ kind: Kind, scope: UploadApplierOptions.RejectionScope) async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = scope
        let scenario = try await Scenario(
            kind,
            options: options,
            rule: .about { $0.id == "1" ? .reject(String(repeating: "m", count: 1_000)) : .apply }
        )
        var entries = (1...200 as ClosedRange<Int64>).map { Scenario.put($0, "\($0)", transaction: 1, table: "notes") }
        let table = String(repeating: "t", count: 1 << 16)
        for index in [5, 100] { entries[index] = Scenario.put(Int64(index + 1), "x", transaction: 1, table: table) }
        let response = try await scenario.apply(entries)
        #expect(!response.rejections.isEmpty)
        #expect(response.json.count < 512 * entries.count)
    }

    @Test(arguments: Kind.allCases) func aRejectedWriteMayBeLeftOutAlone(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.rejectionScope = .entry
        // What the decision itself has written goes, too.
        let rule = Rule(statement: { $0.id.hasPrefix("bad") ? "INSERT INTO log(what) VALUES ('closure')" : nil }) {
            entry,
            _,
            _ in
            entry.id.hasPrefix("bad") ? .reject("Not yours.") : .apply
        }
        let scenario = try await Scenario(kind, options: options, rule: rule)
        let entries = [
            Scenario.put(1, "a", transaction: 5), Scenario.put(2, "bad1", transaction: 5),
            Scenario.put(3, "b", transaction: 5), Scenario.put(4, "bad2", transaction: 5), Scenario.put(5, "c"),
        ]
        let response = try await scenario.apply(entries)
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.operationID) == [2, 4])
        #expect(try await scenario.log() == ["+a", "+b"])
        // What is left comes again.
        #expect(try await scenario.apply([entries[0], entries[2], entries[4]]).appliedThrough == 5)
        #expect(try await scenario.log() == ["+a", "+b", "+c"])
    }

    @Test(arguments: Kind.allCases) func aRejectedTransactionMayBeAcceptedLater(_ kind: Kind) async throws {
        let rule = Rule(readsName: true) { _, _, name in name == nil ? .reject("There is no such list.") : .apply }
        let scenario = try await Scenario(kind, rule: rule)
        let entry = Scenario.put(1, "a")
        #expect(try await scenario.apply([entry]).rejections.count == 1)
        try await scenario.database.run("INSERT INTO lists(id) VALUES ('a')")
        #expect(try await scenario.apply([entry]) == UploadResponse(appliedThrough: 1))
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    @Test(arguments: Kind.allCases)
    func anAuthorisationThatThrowsLeavesItsTransactionForLater(_ kind: Kind) async throws {
        let scenario = try await Scenario(
            kind,
            rule: .about { entry in
                if entry.id == "bad" { throw Broken() }
                return .apply
            }
        )
        let entries = [
            Scenario.put(1, "a"), Scenario.put(2, "b", transaction: 1), Scenario.put(3, "bad", transaction: 1),
            Scenario.put(4, "c"),
        ]
        // What is before it is not held up.
        #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 1))
        await #expect(throws: Broken.self) { try await scenario.apply(Array(entries.dropFirst())) }
        #expect(try await scenario.log() == ["+a"])
        #expect(try await scenario.rememberedWrites() == 1)
    }

    @Test(arguments: Kind.allCases) func decisionsMayChangeValuesAndDoTheWorkThemselves(_ kind: Kind) async throws {
        let rule = Rule(statement: { $0.table == "log" ? "INSERT INTO log(what) VALUES ('done')" : nil }) {
            entry,
            user,
            _ in
            guard entry.table != "log" else { return .reject("not reached: the table has another key") }
            guard entry.id != "event" else { return .done }
            var values = entry.data ?? [:]
            values["owner_id"] = .string(user.id)
            return .apply(values)
        }
        let scenario = try await Scenario(kind, rule: rule)
        let response = try await scenario.apply([
            Scenario.put(1, "a", table: "notes"), Scenario.put(2, "event", table: "notes"),
        ])
        #expect(response == UploadResponse(appliedThrough: 2))
        #expect(try await scenario.rows("notes") == ["a u1 n"])
        #expect(
            try await scenario.apply([Scenario.put(3, "x", table: "log")]).rejections.map(\.code) == [.unknownTable]
        )
    }

    @Test(arguments: Kind.allCases, ["lists", "notes"])
    func earlierWritesOfTheRequestAreSeen(_ kind: Kind, table: String) async throws {
        let rule = Rule(readsName: true) { entry, _, name in
            entry.metadata.map { $0 == name ?? "none" } ?? true ? .apply : .reject("saw \(name ?? "none")")
        }
        let scenario = try await Scenario(kind, rule: rule)
        func write(_ number: Int64, _ op: UpdateType, _ name: String?, sees: String) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: op,
                table: table,
                id: "a",
                transactionID: number / 3,
                data: name.map { ["name": .string($0)] },
                metadata: sees
            )
        }
        let response = try await scenario.apply([
            write(1, .put, "1", sees: "none"), write(2, .patch, "2", sees: "1"), write(3, .put, "3", sees: "2"),
            write(4, .delete, nil, sees: "3"), write(5, .patch, "5", sees: "none"), write(6, .put, nil, sees: "none"),
            write(7, .patch, "7", sees: ""),
        ])
        #expect(response == UploadResponse(appliedThrough: 7))
        #expect(try await scenario.rows(table) == ["a NULL 7"])
    }

    @Test(arguments: Kind.allCases) func ownersAreComparedByBytesOnBothRows(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind, rule: Rule(owner: "owner_id"))
        func write(_ number: Int64, _ op: UpdateType, _ id: String, _ owner: JsonValue?) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: op,
                table: "notes",
                id: id,
                data: owner.map { ["owner_id": $0] } ?? ["name": .string("x")]
            )
        }
        let mine = try await scenario.apply(
            [
                write(1, .put, "a", .string("Kevin")), write(2, .patch, "a", nil), write(3, .patch, "missing", nil),
            ],
            user: "Kevin"
        )
        #expect(mine == UploadResponse(appliedThrough: 3))
        let wrong: [(UpdateType, String, JsonValue?, String)] = [
            (.put, "b", nil, "Kevin"), (.put, "b", .string("other"), "Kevin"), (.put, "b", .null, "Kevin"),
            (.patch, "a", .string("other"), "Kevin"), (.patch, "a", .null, "Kevin"),
            (.patch, "a", nil, "\u{212a}evin"), (.patch, "a", nil, "kevin"), (.delete, "a", nil, "Kevin "),
            (.put, "a", .string("\u{212a}evin"), "\u{212a}evin"), (.put, "b", .string("kevin"), "Kevin"),
        ]
        for (op, id, owner, user) in wrong {
            let response = try await scenario.apply([write(9, op, id, owner)], client: "c2", user: user)
            #expect(response.rejections.map(\.code) == [.forbidden], "\(op) \(id) \(owner.debugDescription) \(user)")
        }
        #expect(try await scenario.rows("notes") == ["a Kevin x"])
    }

    @Test(arguments: Kind.allCases) func aRuleReadsTablesThatClientsDoNotWriteTo(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.tables = ["notes"]
        let row = ["INSERT INTO lists (id, owner_id) VALUES ('there', 'u1')"]
        let scenario = try await Scenario(kind, adding: row, options: options, rule: Rule(ownsIn: "lists"))
        let note = [Scenario.put(1, "a", table: "notes")]
        #expect(try await scenario.apply(note, user: "u2").rejections.map(\.code) == [.forbidden])
        #expect(try await scenario.apply(note) == UploadResponse(appliedThrough: 1))
        // A mistake in the rule is none of the client's.
        let wrong = try await Scenario(kind, rule: Rule(ownsIn: "missing"))
        await #expect(throws: (any Error).self) { try await wrong.apply(note) }
    }

    @Test(arguments: Kind.allCases) func aTriggerThatRefusesIsARejection(_ kind: Kind) async throws {
        let trigger =
            switch kind {
            case .sqlite:
                [
                    """
                    CREATE TRIGGER refused BEFORE INSERT ON notes WHEN NEW.id = 'bad' BEGIN
                      SELECT RAISE(ABORT, 'refused by a trigger');
                    END
                    """
                ]
            case .postgres:
                [
                    """
                    CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                      IF NEW.id = 'bad' THEN RAISE EXCEPTION 'refused by a trigger'; END IF; RETURN NEW;
                    END $$
                    """,
                    "CREATE TRIGGER refused BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION refused()",
                ]
            case .mysql:
                [
                    """
                    CREATE TRIGGER refused BEFORE INSERT ON notes FOR EACH ROW BEGIN
                      IF NEW.id = 'bad' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused by a trigger'; END IF;
                    END
                    """
                ]
            }
        let scenario = try await Scenario(kind, adding: trigger)
        let response = try await scenario.apply([
            Scenario.put(1, "a", table: "notes"), Scenario.put(2, "bad", table: "notes"),
            Scenario.put(3, "c", table: "notes"),
        ])
        #expect(response.appliedThrough == 1)
        #expect(response.rejections.map(\.code) == [.constraint])
        #expect(response.rejections.first?.message.contains("refused by a trigger") == true)
        #expect(try await scenario.rows("notes") == ["a NULL n"])
    }

    /// With another constraint of the same name, which cannot be deferred, or without.
    @Test(arguments: [Kind.sqlite, .postgres], [false, true])
    func referencesThatAreCheckedAtTheCommitAreARejection(_ kind: Kind, hasNamesake: Bool) async throws {
        let todos = """
            CREATE TABLE todos (
              id TEXT PRIMARY KEY,
              list_id TEXT CONSTRAINT listed REFERENCES notes(id) DEFERRABLE INITIALLY DEFERRED
            )
            """
        let namesake = "CREATE TABLE others (id TEXT PRIMARY KEY, v INTEGER CONSTRAINT listed CHECK (v > 0))"
        let scenario = try await Scenario(kind, adding: hasNamesake ? [todos, namesake] : [todos])
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
            todo(1, "a", transaction: 1), Scenario.put(2, "a", transaction: 1, table: "notes"),
            todo(3, "b", transaction: 2),
        ])
        #expect(response.appliedThrough == 2)
        #expect(response.rejections.map(\.operationID) == [3])
        #expect(response.rejections.map(\.code) == [.constraint])
    }

    @Test(arguments: Kind.allCases) func referencesThatAreCheckedAtOnceAreARejection(_ kind: Kind) async throws {
        let text = kind == .mysql ? "VARCHAR(255)" : "TEXT"
        let scenario = try await Scenario(
            kind,
            adding: [
                """
                CREATE TABLE todos (
                  id \(text) PRIMARY KEY, list_id \(text), FOREIGN KEY (list_id) REFERENCES notes(id) ON DELETE CASCADE
                )
                """
            ]
        )
        func todo(_ number: Int64, _ list: String) -> UploadEntry {
            UploadEntry(operationID: number, op: .put, table: "todos", id: "t", data: ["list_id": .string(list)])
        }
        let response = try await scenario.apply([
            Scenario.put(1, "a", table: "notes"), todo(2, "a"),
            UploadEntry(operationID: 3, op: .delete, table: "notes", id: "a"), todo(4, "missing"),
        ])
        #expect(response.appliedThrough == 3)
        #expect(response.rejections.map(\.code) == [.constraint])
        // The reference cascades.
        #expect(try await scenario.database.run("SELECT id FROM todos").isEmpty)
    }

    @Test(arguments: Kind.allCases, ["lists", "notes"])
    func tenThousandWritesAreOneTransaction(_ kind: Kind, table: String) async throws {
        let count = table == "lists" ? 500 : 10_000
        let bad = "\(count / 2)"
        let scenario = try await Scenario(
            kind,
            rule: .about { $0.id == bad && $0.metadata == nil ? .reject("no") : .apply }
        )
        var entries = (1...count).map { Scenario.put(Int64($0), "\($0)", transaction: 1, table: table) }
        if table == "lists" {
            let refused = try await scenario.apply(entries)
            #expect(refused.appliedThrough == nil && refused.rejections.count == count)
            #expect(refused.rejections.filter { $0.code == .forbidden }.map(\.operationID) == [Int64(count / 2)])
            #expect(try await scenario.rows(table).isEmpty)
        }
        entries[count / 2 - 1].metadata = "approved"
        for _ in 0..<2 {
            #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: Int64(count)))
            #expect(try await scenario.rows(table).count == count)
        }
    }
}
