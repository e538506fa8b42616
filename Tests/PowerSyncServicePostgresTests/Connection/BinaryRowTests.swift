import PostgresTestSupport
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// What a storage reads of a row: a value that is missing is an error, never 0, `false` or an empty text.
@Suite(.timeLimit(.minutes(1))) struct BinaryRowTests {
    private let database: TestDatabase
    private let pool: PostgresPool

    init() throws {
        database = try TestDatabase("SELECT 1")
        pool = PostgresPool(database.connectionString, maximumConnections: 1)
    }

    private func read<Value: Sendable>(
        _ sql: String,
        _ read: @escaping @Sendable (BinaryRow) throws -> Value
    ) async throws -> Value {
        try await pool.withConnection { connection in
            try await connection.statements("testing", in: PostgresStorageSchema(name: "powersync")) { db in
                try db.one(sql, [], read)
            }
        }
    }

    @Test(arguments: [
        ("NULL::bigint AS last_op", "last_op"), ("NULL::text AS slot_name", "slot_name"), ("NULL", "?column?"),
        // What an aggregate makes of integers is often a number without a limit.
        ("1::numeric AS total", "total"), ("'123456789'::text AS name", "name"), ("''::text AS name", "name"),
    ])
    func whatIsNoIntegerIsAnError(_ value: String, _ column: String) async throws {
        let error = await #expect(throws: BucketStorageError.self) {
            _ = try await read("SELECT \(value)") { try $0.integer(0) }
        }
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains(column) == true, "\(String(describing: error))")
        if value.hasPrefix("NULL") {
            #expect(try await read("SELECT \(value)") { try $0.optionalInteger(0) } == nil)
        } else {
            await #expect(throws: BucketStorageError.self) {
                _ = try await read("SELECT \(value)") { try $0.optionalInteger(0) }
            }
        }
    }

    @Test func missingTextsBytesAndBooleansAreErrors() async throws {
        for missing: @Sendable (BinaryRow) throws -> Void in [
            { _ = try $0.text(0) }, { _ = try $0.bytes(0) }, { _ = try $0.boolean(0) },
        ] {
            await #expect(throws: BucketStorageError.self) { try await read("SELECT NULL AS config", missing) }
        }
        #expect(try await read("SELECT NULL::text") { $0.optionalText(0) } == nil)
        #expect(try await read("SELECT ''::text") { try $0.text(0) } == "")
        #expect(try await read("SELECT -3::smallint") { try $0.integer(0) } == -3)
        #expect(try await read("SELECT true") { try $0.boolean(0) })
    }

    @Test func aQueryWithoutARowIsAnErrorWhereOneIsNeeded() async throws {
        let error = await #expect(throws: BucketStorageError.self) {
            _ = try await read("SELECT 1 WHERE false") { try $0.integer(0) }
        }
        #expect(error?.code == .corrupted)
    }
}
