import NIOConcurrencyHelpers
import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres
import Testing

/// Transactions that are in each other's way.
@Suite(.timeLimit(.minutes(2))) struct ServerConcurrencyTests {
    private typealias Scenario = ApplierScenario

    /// Two callers pass together; later ones pass at once.
    private actor Meeting {
        private var arrived = 0
        private var waiting: CheckedContinuation<Void, Never>?

        func arrive() async {
            arrived += 1
            if arrived == 1 {
                await withCheckedContinuation { waiting = $0 }
            } else {
                waiting?.resume()
                waiting = nil
            }
        }
    }

    /// A rule that locks two rows in an order of its own, the second one when both requests have the first one.
    private static func lock(
        _ ids: [String],
        _ meeting: Meeting,
        _ execute: (String) async throws -> Void
    ) async throws -> WriteDecision {
        try await execute("SELECT id FROM notes WHERE id = '\(ids[0])' FOR UPDATE")
        await meeting.arrive()
        try await execute("SELECT id FROM notes WHERE id = '\(ids[1])' FOR UPDATE")
        return .apply
    }

    @Test(arguments: [Kind.postgres, .mysql]) func aDeadlockBeginsARequestAgain(_ kind: Kind) async throws {
        let meeting = Meeting()
        let decisions = NIOLockedValueBox(0)
        let statements = ApplierScenario.schema(kind) + ["INSERT INTO notes(id) VALUES ('x'), ('y')"]
        let applier: @Sendable ([String]) -> any UploadApplier
        let database: any AppDatabase
        switch kind {
        case .postgres:
            let postgres = try await PostgresAppDatabase(statements, UploadApplierOptions(), .everything)
            database = postgres
            applier = { ids in
                postgres.applier { _, transaction in
                    decisions.withLockedValue { $0 += 1 }
                    return try await Self.lock(ids, meeting) { sql in
                        try await transaction.execute(PostgresQuery(unsafeSQL: sql))
                    }
                }
            }
        case .mysql, .sqlite:
            let mysql = try await MySQLAppDatabase(statements, UploadApplierOptions(), .everything)
            database = mysql
            applier = { ids in
                mysql.applier { _, transaction in
                    decisions.withLockedValue { $0 += 1 }
                    return try await Self.lock(ids, meeting) { sql in try await transaction.execute(sql) }
                }
            }
        }
        async let first = applier(["x", "y"]).apply(
            UploadRequest(clientID: "c1", entries: [Scenario.put(1, "a", table: "notes")]),
            for: BackendUser(id: "u1")
        )
        async let second = applier(["y", "x"]).apply(
            UploadRequest(clientID: "c2", entries: [Scenario.put(1, "b", table: "notes")]),
            for: BackendUser(id: "u1")
        )
        #expect(try await [first, second] == Array(repeating: UploadResponse(appliedThrough: 1), count: 2))
        #expect(decisions.withLockedValue { $0 } == 3)
        #expect(try await database.run("SELECT id FROM notes ORDER BY id") == [["a"], ["b"], ["x"], ["y"]])
    }

    @Test(arguments: [Kind.postgres, .mysql], ["40001", "55P03"])
    func aRequestIsBegunAgainTenTimesAtMost(_ kind: Kind, code: String) async throws {
        let attempts = NIOLockedValueBox(0)
        let rule = Rule(statement: { _ in
            attempts.withLockedValue { $0 += 1 }
            return kind == .postgres
                ? "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '\(code)'; END $$"
                : "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = \(code == "40001" ? 1213 : 1205), MESSAGE_TEXT = 'again'"
        })
        let scenario = try await Scenario(kind, rule: rule)
        await #expect(throws: (any Error).self) { try await scenario.apply([Scenario.put(1, "a")]) }
        #expect(attempts.withLockedValue { $0 } == 11)
        #expect(try await scenario.log().isEmpty)
        #expect(try await scenario.rememberedWrites() == 0)
    }

    /// The row is stored by another transaction between the look for it and the insert, of the first attempt or of the second, write by
    /// write.
    @Test(arguments: [Kind.postgres, .mysql], [false, true])
    func aRowThatAppearsMeanwhileIsUpdated(_ kind: Kind, isStepwise: Bool) async throws {
        struct Broken: Error {}
        let outside = NIOLockedValueBox<(any AppDatabase)?>(nil)
        let count = NIOLockedValueBox(0)
        let statements = ApplierScenario.schema(kind)
        let insert: @Sendable () async throws -> WriteDecision = {
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            if isStepwise, number == 1 { throw Broken() }
            if number == (isStepwise ? 2 : 1), let database = outside.withLockedValue({ $0 }) {
                try await database.run("INSERT INTO notes(id, owner_id) VALUES ('a', 'outside')")
            }
            return .apply
        }
        let database: any AppDatabase
        let applier: any UploadApplier
        switch kind {
        case .postgres:
            let postgres = try await PostgresAppDatabase(statements, UploadApplierOptions(), .everything)
            database = postgres
            applier = postgres.applier { _, _ in try await insert() }
        case .mysql, .sqlite:
            let mysql = try await MySQLAppDatabase(statements, UploadApplierOptions(), .everything)
            database = mysql
            applier = mysql.applier { _, _ in try await insert() }
        }
        outside.withLockedValue { $0 = database }
        let request = UploadRequest(clientID: "c1", entries: [Scenario.put(1, "a", table: "notes")])
        #expect(try await applier.apply(request, for: BackendUser(id: "u1")) == UploadResponse(appliedThrough: 1))
        #expect(try await database.run("SELECT id, owner_id, name FROM notes") == [["a", "outside", "n"]])
        outside.withLockedValue { $0 = nil }
    }

    /// Another user stores the row while the rule, which has found no row, runs a statement of its own.
    @Test(arguments: [Kind.postgres, .mysql])
    func aRowThatAppearsIsNotTheOneThatWasDecidedAbout(_ kind: Kind) async throws {
        let outside = NIOLockedValueBox<(any AppDatabase)?>(nil)
        let insert: @Sendable (ServerWrite) async throws -> WriteDecision? = { write in
            guard try await write.belongsToUser(by: "owner_id") else { return .reject("Not yours.") }
            let database = outside.withLockedValue { database in
                defer { database = nil }
                return database
            }
            try await database?.run("INSERT INTO notes(id, owner_id) VALUES ('a', 'outside')")
            return nil
        }
        let audit = "INSERT INTO log(what) VALUES ('audit')"
        let database: any AppDatabase
        let applier: any UploadApplier
        switch kind {
        case .postgres:
            let postgres = try await PostgresAppDatabase(Scenario.schema(kind), UploadApplierOptions(), .everything)
            database = postgres
            applier = postgres.applier { write, transaction in
                if let decision = try await insert(write) { return decision }
                try await transaction.execute(PostgresQuery(unsafeSQL: audit))
                return .apply
            }
        case .mysql, .sqlite:
            let mysql = try await MySQLAppDatabase(Scenario.schema(kind), UploadApplierOptions(), .everything)
            database = mysql
            applier = mysql.applier { write, transaction in
                if let decision = try await insert(write) { return decision }
                try await transaction.execute(audit)
                return .apply
            }
        }
        outside.withLockedValue { $0 = database }
        let data: JsonParam = ["owner_id": .string("u1")]
        let entry = UploadEntry(operationID: 1, op: .put, table: "notes", id: "a", data: data)
        let request = UploadRequest(clientID: "c1", entries: [entry])
        let response = try await applier.apply(request, for: BackendUser(id: "u1"))
        #expect(response.rejections.map(\.code) == [.forbidden])
        #expect(try await database.run("SELECT id, owner_id FROM notes") == [["a", "outside"]])
        #expect(try await database.run("SELECT what FROM log").isEmpty)
    }

    /// A rule that stores the row itself, and has the write applied to it.
    @Test(arguments: Kind.allCases) func aRuleMayStoreTheRow(_ kind: Kind) async throws {
        let rule = Rule(statement: { _ in "INSERT INTO notes(id, owner_id) VALUES ('a', 'rule')" })
        let scenario = try await Scenario(kind, rule: rule)
        let response = try await scenario.apply([Scenario.put(1, "a", table: "notes")])
        #expect(response == UploadResponse(appliedThrough: 1))
        #expect(try await scenario.rows("notes") == ["a rule n"])
    }
}
