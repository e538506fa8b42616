import Foundation
import PowerSync
import Testing

@Suite(.timeLimit(.minutes(1))) struct TableDiffTests {
    private struct Refusal: Error {}

    private static var unthrottled: TableDiffOptions {
        var options = TableDiffOptions()
        options.throttle = 0
        return options
    }

    /// Runs a diff of `users` while a closure works.
    private func withRun(
        _ database: any PowerSyncDatabaseProtocol,
        _ options: TableDiffOptions = unthrottled,
        handler: @escaping @Sendable (TableDiffTransaction) throws -> Void,
        _ body: (TableDiff) async throws -> Void
    ) async throws {
        try await database.withTableDiff(of: "users", options: options) { diff in
            let run = Task { try await diff.run(handler) }
            try await body(diff)
            try await diff.stop()
            try await run.value
        }
    }

    private func temporaryObjects(_ database: any PowerSyncDatabaseProtocol) async throws -> Int {
        try await database.writeLock { context in
            try context.get(
                sql: "SELECT count(*) FROM sqlite_temp_master WHERE name GLOB 'ps_diff_*'",
                parameters: []
            ) { try $0.getInt(index: 0) }
        }
    }

    @Test func changesAreHandedOverInOrder() async throws {
        try await withFileDatabase { database in
            let handed = HandedChanges()
            try await withRun(database, handler: { try handed.note($0) }) { _ in
                try await database.writeTransaction { transaction in
                    for id in ["1", "2"] {
                        try transaction.execute(sql: "INSERT INTO users (id) VALUES (?)", parameters: [id])
                    }
                }
                #expect(await handed.next() == ["INSERT 1", "INSERT 2"])
                try await database.execute("UPDATE users SET name = 'Ada' WHERE id = '2'")
                #expect(await handed.next() == ["UPDATE 2"])
                try await database.execute("DELETE FROM users WHERE id = '1'")
                #expect(await handed.next() == ["DELETE 1"])
            }
            #expect(try await temporaryObjects(database) == 0)
        }
    }

    @Test
    func whatIsRecordedBeforeTheRunIsHandedOverFirstAndRecordedValuesAreTyped() async throws {
        try await withMemoryDatabase { database in
            let diff = try await database.trackTableDiff(of: "users", options: Self.unthrottled)
            try await database.execute("INSERT INTO users (id, name, age) VALUES ('1', 'Ada', 36)")
            try await database.execute("UPDATE users SET age = 37")
            let records = Shared<[TableDiffRecord]>([])
            let handled = Counter()
            let run = Task {
                try await diff.run { changes in
                    records.value = try changes.records()
                    handled.increment()
                }
            }
            await handled.wait(for: 1)
            try await diff.stop()
            try await run.value
            #expect(records.value.map(\.operationId) == [1, 2])
            #expect(records.value.map(\.operation) == [.insert, .update])
            #expect(records.value.last?.value["age"] == .int(37))
            #expect(records.value.last?.previousValue?["age"] == .int(36))
            #expect(records.value.first?.previousValue == nil)
        }
    }

    @Test
    func diffCanBeQueriedAndJoinedStoredAndExtractedAndWrittenFrom() async throws {
        try await withFileDatabase { database in
            try await database.execute("CREATE TABLE log (id, age, operation)")
            try await database.execute("INSERT INTO tasks (id, user_id, title) VALUES ('t', '1', 'Write')")
            let texts = Shared<[String]>([])
            let handled = Counter()
            try await withRun(
                database,
                handler: { changes in
                    texts.value = [
                        try changes.diff.get(
                            sql: "SELECT group_concat(operation || json_extract(value, '$.age')) FROM DIFF",
                            parameters: []
                        ) { try $0.getString(index: 0) },
                        try changes.extractedDiff.get(
                            sql: """
                                WITH titles AS (SELECT user_id, title FROM tasks)
                                SELECT DIFF.id || title || typeof(age) || __operation_id FROM DIFF
                                JOIN titles ON user_id = DIFF.id WHERE age > ?
                                """,
                            parameters: [1]
                        ) { try $0.getString(index: 0) },
                    ]
                    try changes.extractedDiff.execute(
                        sql: "INSERT INTO log SELECT id, age, __operation FROM DIFF",
                        parameters: []
                    )
                    handled.increment()
                },
                { _ in
                    try await database.execute("INSERT INTO users (id, age) VALUES ('1', 36)")
                    await handled.wait(for: 1)
                    #expect(texts.value == ["INSERT36", "1Writeinteger1"])
                }
            )
            #expect(
                try await database.get("SELECT id || age || operation FROM log") { try $0.getString(index: 0) }
                    == "136INSERT"
            )
        }
    }

    @Test
    func columnsAndConditionsAreThoseOfTheOptions() async throws {
        try await withFileDatabase { database in
            var options = TableDiffOptions(
                columns: .only(["name"]),
                when: [.update: "NEW.age > OLD.age", .delete: "OLD.name = 'Ada'"]
            )
            options.throttle = 0
            let values = Shared<[JsonParam]>([])
            let handled = Counter()
            try await withRun(
                database,
                options,
                handler: { changes in
                    values.value += try changes.records().map(\.value)
                    handled.increment()
                },
                { _ in
                    try await database.writeTransaction { transaction in
                        for sql in [
                            "INSERT INTO users (id, name, age) VALUES ('1', 'Ada', 1), ('2', 'Bob', 2)",
                            "UPDATE users SET age = age - 1",
                            "UPDATE users SET age = 9 WHERE id = '2'",
                            "DELETE FROM users",
                        ] {
                            try transaction.execute(sql: sql, parameters: [])
                        }
                    }
                    await handled.wait(for: 1)
                }
            )
            #expect(values.value == [["name": .string("Bob")], ["name": .string("Ada")]])
        }
    }

    @Test
    func handlerThatThrowsIsRolledBackAndGetsTheChangesAgainWithTheNextOne() async throws {
        let log = CollectingLogWriter()
        var attempts = 0
        try await withFileDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [log])) { database in
            try await database.execute("CREATE TABLE log (id)")
            let handed = HandedChanges()
            let mustThrow = Shared(true)
            try await withRun(
                database,
                handler: { changes in
                    try handed.note(changes)
                    try changes.diff.execute(sql: "INSERT INTO log SELECT id FROM DIFF", parameters: [])
                    if mustThrow.value { throw Refusal() }
                },
                { _ in
                    try await database.execute("INSERT INTO users (id) VALUES ('1')")
                    var changes = await handed.next()
                    #expect(changes == ["INSERT 1"])
                    // What was refused may be offered before there is more.
                    try await database.writeTransaction { transaction in
                        mustThrow.value = false
                        try transaction.execute(sql: "INSERT INTO users (id) VALUES ('2')", parameters: [])
                    }
                    while changes == ["INSERT 1"] {
                        attempts += 1
                        changes = await handed.next()
                    }
                    #expect(changes == ["INSERT 1", "INSERT 2"])
                }
            )
            #expect(try await database.count("log") == 2)
        }
        #expect(log.messages(.error).count == attempts)
        #expect(log.messages(.error).allSatisfy { $0.contains("Refusal") })
    }

    @Test
    func whatTheHandlerChangesInTheViewIsHandedOverNext() async throws {
        try await withFileDatabase { database in
            let handed = HandedChanges()
            try await withRun(
                database,
                handler: { changes in
                    try handed.note(changes)
                    try changes.execute(sql: "UPDATE users SET name = 'x' WHERE name IS NULL", parameters: [])
                },
                { _ in
                    try await database.execute("INSERT INTO users (id) VALUES ('1')")
                    #expect(await handed.next() == ["INSERT 1"])
                    #expect(await handed.next() == ["UPDATE 1"])
                }
            )
        }
    }

    @Test
    func hookRunsBeforeTheFirstRecordedChangeInTheSameTransaction() async throws {
        try await withFileDatabase { database in
            try await database.execute("INSERT INTO users (id) VALUES ('1')")
            try await database.execute("CREATE TABLE known (id)")
            var options = Self.unthrottled
            options.beforeCreate = { transaction in
                try transaction.execute(sql: "INSERT INTO known SELECT id FROM users", parameters: [])
                // Not recorded either.
                try transaction.execute(sql: "INSERT INTO users (id) VALUES ('0')", parameters: [])
            }
            let handed = HandedChanges()
            try await withRun(database, options, handler: { try handed.note($0) }) { _ in
                #expect(try await database.count("known") == 1)
                try await database.execute("INSERT INTO users (id) VALUES ('2')")
                #expect(await handed.next() == ["INSERT 2"])
            }
            options.beforeCreate = { transaction in
                try transaction.execute(sql: "DELETE FROM known", parameters: [])
                throw Refusal()
            }
            await #expect(throws: Refusal.self) { try await database.trackTableDiff(of: "users", options: options) }
            #expect(try await database.count("known") == 1)
            #expect(try await temporaryObjects(database) == 0)
        }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        let view: String
        let columns: TableDiffColumns
        let when: [TableDiffOperation: String]
        let message: String

        var testDescription: String { message }
    }

    static let mistakes = [
        Mistake(view: "people", columns: .all, when: [.insert: "TRUE"], message: "no view named 'people'"),
        Mistake(view: "ps_data__users", columns: .all, when: [.insert: "TRUE"], message: "no view named"),
        Mistake(
            view: "users",
            columns: .only(["name", "hat"]),
            when: [.insert: "TRUE"],
            message: "no column named 'hat'"
        ),
        Mistake(view: "users", columns: .all, when: [:], message: "at least one operation"),
        Mistake(
            view: "users",
            columns: .all,
            when: [.update: "NEW.hat = 1"],
            message: "UPDATE of a table diff of 'users'"
        ),
        Mistake(view: "users", columns: .all, when: [.update: "NEW.hat = 1"], message: "no such column: NEW.hat"),
        Mistake(view: "logs", columns: .all, when: [.insert: "TRUE"], message: "'logs' is insert-only"),
    ]

    @Test(arguments: mistakes)
    func namesAndConditionsThatDoNotExistAreRefused(_ mistake: Mistake) async throws {
        let schema = Schema(
            Table(name: "users", columns: [.text("name")]),
            Table(name: "logs", columns: [.text("line")], insertOnly: true)
        )
        try await withMemoryDatabase(schema) { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.trackTableDiff(
                    of: mistake.view,
                    options: TableDiffOptions(columns: mistake.columns, when: mistake.when)
                )
            }
            #expect(error?.localizedDescription.contains(mistake.message) == true, "\(String(describing: error))")
            #expect(try await temporaryObjects(database) == 0)
            try await database.execute("INSERT INTO users (id) VALUES ('1')")
        }
    }

    // MARK: - Ending

    @Test
    func scopeEndsRecordingWhenItThrowsAndInACancelledTask() async throws {
        try await withFileDatabase { database in
            await #expect(throws: Refusal.self) {
                try await database.withTableDiff(of: "users") { _ in throw Refusal() }
            }
            let left = try await temporaryObjects(database)
            #expect(left == 0)
            let started = Counter()
            let task = Task {
                try await database.withTableDiff(of: "users") { diff in
                    started.increment()
                    try await diff.run { _ in }
                }
            }
            await started.wait(for: 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await temporaryObjects(database) == 0)
        }
    }

    @Test
    func diffThatIsDroppedStopsRecording() async throws {
        try await withFileDatabase { database in
            var diff: TableDiff? = try await database.trackTableDiff(of: "users")
            #expect(try await temporaryObjects(database) > 0)
            _ = diff
            diff = nil
            #expect(try await temporaryObjects(database) == 0)
        }
    }

    @Test
    func stoppingIsIdempotentAndAStoppedDiffHasNothingToRun() async throws {
        try await withFileDatabase { database in
            let diff = try await database.trackTableDiff(of: "users")
            try await diff.stop()
            try await diff.stop()
            try await diff.run { _ in Issue.record("There is nothing to handle") }
        }
    }

    @Test
    func runThatWasCancelledCanBeFollowedByAnotherOneButNotJoinedByOne() async throws {
        try await withFileDatabase { database in
            let diff = try await database.trackTableDiff(of: "users", options: Self.unthrottled)
            let handed = HandedChanges()
            let first = Task { try await diff.run { try handed.note($0) } }
            try await database.execute("INSERT INTO users (id) VALUES ('1')")
            #expect(await handed.next() == ["INSERT 1"])
            await #expect(throws: PowerSyncError.self) { try await diff.run { _ in } }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            try await database.execute("INSERT INTO users (id) VALUES ('2')")
            let second = Task { try await diff.run { try handed.note($0) } }
            #expect(await handed.next() == ["INSERT 2"])
            try await diff.stop()
            try await second.value
        }
    }

    @Test func closingEndsTheRun() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        var options = TableDiffOptions()
        options.throttle = 3600
        let diff = try await database.trackTableDiff(of: "users", options: options)
        try await database.insertUser("Ada")
        let handed = HandedChanges()
        let run = Task { try await diff.run { try handed.note($0) } }
        #expect(await handed.next()?.count == 1)
        try await database.insertUser("Bob")
        try await database.close()
        try await run.value
        try await diff.stop()
    }

    @Test
    func newSchemaEndsTheDiffTheRunThrowsAndAWarningIsLogged() async throws {
        let log = CollectingLogWriter()
        try await withFileDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [log])) { database in
            let diff = try await database.trackTableDiff(of: "users", options: Self.unthrottled)
            let handed = HandedChanges()
            try await database.insertUser("Ada")
            let run = Task { try await diff.run { try handed.note($0) } }
            #expect(await handed.next()?.count == 1)
            try await database.updateSchema(schema: testSchema)
            let error = await #expect(throws: PowerSyncError.self) { try await run.value }
            #expect(error?.localizedDescription.contains("schema was replaced") == true)
            #expect(try await temporaryObjects(database) == 0)
            #expect(log.messages(.warning).count { $0.contains("'users'") } == 1)
            try await diff.stop()
            // The view can be tracked again, with the new schema.
            let renamed = Table(name: "users", columns: [.text("name")], viewNameOverride: "people")
            try await database.updateSchema(schema: Schema(renamed))
            try await database.withTableDiff(of: "people") { _ in }
        }
    }
}
