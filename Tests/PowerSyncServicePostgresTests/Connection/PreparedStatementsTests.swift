import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Statements that come again are prepared, and a session that has lost them is no reason for an error.
@Suite(.timeLimit(.minutes(1))) struct PreparedStatementsTests {
    // MARK: What is prepared

    private static let key = PreparedStatements.Key(sql: "SELECT $1", types: [20])

    @Test func aTextThatComesAgainIsPrepared() throws {
        var statements = PreparedStatements()
        let now = ContinuousClock.now
        #expect(statements.use(Self.key, byteCount: 8, at: now) == .text)
        let name = try #require(Self.name(statements.use(Self.key, byteCount: 8, at: now), replaced: nil))
        for _ in 0..<3 { #expect(statements.use(Self.key, byteCount: 8, at: now) == .execute(name: name)) }
        // For arguments of other types, it is another statement.
        #expect(statements.use(.init(sql: Self.key.sql, types: [25]), byteCount: 8, at: now) == .text)
    }

    @Test func aPlanIsNotKeptForLong() throws {
        var statements = PreparedStatements()
        let now = ContinuousClock.now
        _ = statements.use(Self.key, byteCount: 8, at: now)
        let first = try #require(Self.name(statements.use(Self.key, byteCount: 8, at: now), replaced: nil))
        let end = now.advanced(by: PreparedStatements.lifetime)
        let last = end.advanced(by: .nanoseconds(-1))
        #expect(statements.use(Self.key, byteCount: 8, at: last) == .execute(name: first))
        let second = try #require(Self.name(statements.use(Self.key, byteCount: 8, at: end), replaced: first))
        #expect(second != first)
        #expect(statements.use(Self.key, byteCount: 8, at: end) == .execute(name: second))
    }

    @Test func largeArgumentsAreThoseOfTheirOwnPlan() throws {
        var statements = PreparedStatements()
        let now = ContinuousClock.now
        for _ in 0..<3 {
            #expect(statements.use(Self.key, byteCount: PreparedStatements.maximumBytes + 1, at: now) == .text)
        }
        #expect(statements.use(Self.key, byteCount: PreparedStatements.maximumBytes, at: now) == .text)
        _ = try #require(
            Self.name(statements.use(Self.key, byteCount: PreparedStatements.maximumBytes, at: now), replaced: nil)
        )
    }

    @Test(arguments: ["BEGIN", "COMMIT", "CREATE TABLE t (n int)", "SET LOCAL synchronous_commit TO off"])
    func whatHasNoPlanIsNotPrepared(sql: String) {
        var statements = PreparedStatements()
        for _ in 0..<3 { #expect(statements.use(.init(sql: sql, types: []), byteCount: 0, at: .now) == .text) }
    }

    @Test func aSessionKeepsSomeStatements() {
        var statements = PreparedStatements()
        let now = ContinuousClock.now
        let keys = (0...PreparedStatements.maximumCount).map {
            PreparedStatements.Key(sql: "SELECT \($0)", types: [])
        }
        for key in keys { for _ in 0..<2 { _ = statements.use(key, byteCount: 0, at: now) } }
        let uses = keys.map { statements.use($0, byteCount: 0, at: now) }
        #expect(uses.dropLast().allSatisfy { if case .execute = $0 { true } else { false } })
        #expect(uses.last == .text)
        statements.forgetAll()
        let isPrepared =
            if case .prepare = statements.use(keys[keys.count - 1], byteCount: 0, at: now) { true } else { false }
        #expect(isPrepared)
    }

    /// The name that a statement is given; `nil` when it is used in another way.
    private static func name(_ use: PreparedStatements.Use, replaced: String?) -> String? {
        guard case .prepare(let name, replaced) = use else { return nil }
        return name
    }

    // MARK: What sessions have

    private let database: TestDatabase
    private let connection: PostgresConnection

    init() async throws {
        database = try TestDatabase("CREATE TABLE t (n int PRIMARY KEY)")
        connection = try await PostgresConnection.open(database.connectionString)
    }

    /// Runs statements as a storage does.
    private func run<Value: Sendable>(
        preparing: Bool = true,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await PostgresError.repeatingConflicts {
            try await connection.statements(
                "testing",
                in: PostgresStorageSchema(name: "public"),
                preparing: preparing,
                body
            )
        }
    }

    private func prepared() async throws -> [String] {
        try await connection.query(
            "SELECT statement FROM pg_prepared_statements ORDER BY prepare_time",
            activity: "testing"
        ).compactMap(\.first).compactMap(\.self)
    }

    @Test func statementsArePreparedOnceInASession() async throws {
        let sql = "SELECT $1 + 1"
        func next(_ number: Int64) async throws -> Int64 {
            try await run { try $0.one(sql, [.integer(number)]) { try $0.integer(0) } }
        }
        #expect(try await next(1) == 2)
        #expect(try await prepared() == [])
        for number in Int64(2)...8 {
            #expect(try await next(number) == number + 1)
            #expect(try await prepared() == [sql])
        }
        // Nobody would repeat it.
        _ = try await run(preparing: false) { db in for _ in 0..<3 { try db.run("SELECT 2") } }
        #expect(try await prepared() == [sql])
    }

    @Test func theSameStatementTwiceInOneRoundTrip() async throws {
        let numbers = try await run { db in
            var numbers: [Int64] = []
            let statements = (0..<4).map { number in
                PostgresStatements.Statement(sql: "SELECT $1 + 1", arguments: [.integer(number)]) {
                    numbers.append(try $0.integer(0))
                }
            }
            for _ in 0..<2 { try db.run(together: statements) }
            return numbers
        }
        #expect(numbers == [1, 2, 3, 4, 1, 2, 3, 4])
        #expect(try await prepared() == ["SELECT $1 + 1"])
    }

    /// As a pooler does between two clients of a session.
    @Test(arguments: ["DEALLOCATE ALL", "DISCARD ALL"])
    func whatASessionHasLostIsPreparedAgain(reset: String) async throws {
        for number in Int64(1)...3 {
            try await insert(number)
            if number > 1 { try await connection.execute(reset, activity: "testing") }
        }
        try await insert(4)
        try await insert(5)
        #expect(try database.run("SELECT n FROM t ORDER BY n") == [["1"], ["2"], ["3"], ["4"], ["5"]])
        #expect(try await prepared().count == 1)
    }

    private func insert(_ number: Int64) async throws {
        try await run { db in
            // Not with the look at the session that begins one that writes, which `DISCARD ALL` would fail.
            try db.run("BEGIN")
            do {
                try db.run("INSERT INTO public.t VALUES ($1)", [.integer(number)])
                try db.run("COMMIT")
            } catch {
                try db.run("ROLLBACK")
                throw error
            }
        }
    }

    @Test func aTableMayHaveOtherColumns() async throws {
        try database.run("INSERT INTO t VALUES (7)")
        func read() async throws -> String? {
            try await run { db in
                try db.transaction(.read) {
                    try db.first("SELECT * FROM public.t") { $0.optionalBytes(0)?.description }
                }
            } ?? nil
        }
        for _ in 0..<3 { #expect(try await read() == "[0, 0, 0, 7]") }
        try database.run("ALTER TABLE t ALTER n TYPE bigint")
        for _ in 0..<3 { #expect(try await read() == "[0, 0, 0, 0, 0, 0, 0, 7]") }
    }

    @Test func whatWasLeftOutAfterAnErrorIsPreparedLater() async throws {
        func run(_ divisor: Int64) async throws -> [Int64] {
            try await self.run { db in
                var numbers: [Int64] = []
                try db.run(
                    together: ["SELECT 6 / $1", "SELECT 6 + $1"].map { sql in
                        PostgresStatements.Statement(sql: sql, arguments: [.integer(divisor)]) {
                            numbers.append(try $0.integer(0))
                        }
                    }
                )
                return numbers
            }
        }
        #expect(try await run(1) == [6, 7])
        await #expect(throws: PostgresError.self) { _ = try await run(0) }
        #expect(try await prepared() == ["SELECT 6 / $1"])
        for _ in 0..<2 { #expect(try await run(2) == [3, 8]) }
        #expect(try await prepared() == ["SELECT 6 / $1", "SELECT 6 + $1"])
    }

    @Test func statementsForLaterRunBeforeTheNextOnes() async throws {
        let counts = try await run { db in
            try db.transaction {
                db.runLater([.init(sql: "INSERT INTO public.t VALUES (1), (2)")])
                return try [
                    db.run("UPDATE public.t SET n = n + 10"),
                    {
                        db.runLater([.init(sql: "DELETE FROM public.t WHERE n = 11")])
                        return 0
                    }(),
                ]
            }
        }
        #expect(counts == [2, 0])
        #expect(try database.run("SELECT n FROM t") == [["12"]])
        await #expect(throws: PostgresError.self) {
            try await run { db in
                try db.transaction {
                    try db.run("INSERT INTO public.t VALUES (4)")
                    db.runLater([.init(sql: "SELECT 1 / 0")])
                }
            }
        }
        #expect(try database.run("SELECT n FROM t") == [["12"]])
    }
}
