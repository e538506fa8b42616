import Foundation
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// What an app may pass to calls that need no network.
@Suite(.timeLimit(.minutes(1))) struct LocalInputTests {
    @Test(arguments: [-1.0, -.infinity, .nan]) func badThrottlesAreRefused(_ throttle: Double) async throws {
        try await withMemoryDatabase { database in
            let options = WatchOptions(sql: "SELECT 1", throttle: throttle) { try $0.getInt(index: 0) }
            #expect(throws: PowerSyncError.self) { try database.watch(options: options) }
            #expect(throws: PowerSyncError.self) { try database.watchDistinct(options: options) }
            #expect(throws: PowerSyncError.self) { try database.watchUploadQueue(throttle: throttle) }
            var changes = database.onChange(tables: ["users"], throttle: throttle).makeAsyncIterator()
            await #expect(throws: PowerSyncError.self) { try await changes.next() }
            var diffs = TableDiffOptions()
            diffs.throttle = throttle
            await #expect(throws: PowerSyncError.self) {
                try await database.trackTableDiff(of: "users", options: diffs)
            }
        }
    }

    @Test(arguments: [0.0, 1e-300, 1e300, .infinity]) func unusualThrottlesAreFine(_ throttle: Double) async throws {
        try await withMemoryDatabase { database in
            let options = WatchOptions(sql: "SELECT 7", throttle: throttle) { try $0.getInt(index: 0) }
            var results = try database.watch(options: options).makeAsyncIterator()
            #expect(try await results.next() == [7])
            var changes = database.onChange(tables: ["users"], throttle: throttle).makeAsyncIterator()
            #expect(try await changes.next() == [])
        }
    }

    @Test(arguments: [Int32.min, -1, 0]) func batchesHaveAtLeastOneWrite(_ limit: Int32) async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada")
            await #expect(throws: PowerSyncError.self) { try await database.getCrudBatch(limit: limit) }
            #expect(try await database.getCrudBatch(limit: .max)?.crud.count == 1)
        }
    }

    @Test(arguments: ["", " ", "-1", "1.5", "NaN", "1e3", "9223372036854775808", "7\0", "🥖"])
    func badWriteCheckpointsAreRefused(_ text: String) async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada")
            let batch = try #require(try await database.getCrudBatch())
            await #expect(throws: PowerSyncError.self) { try await batch.complete(writeCheckpoint: text) }
            let transaction = try #require(try await database.getNextCrudTransaction())
            await #expect(throws: PowerSyncError.self) { try await transaction.complete(writeCheckpoint: text) }
            #expect(try await database.getUploadQueueStats().count == 1)
        }
    }

    @Test(arguments: ["", "a\0b", "/tmp/a\0b", "../a", "a/../../b", "/" + String(repeating: "x", count: 1_000_000)])
    func badFileNamesAreErrorsOfEachOperation(_ name: String) async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: name, logger: DefaultLogger(writers: []))
        for _ in 0..<2 {
            await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
            await #expect(throws: PowerSyncError.self) { try await database.getCrudBatch() }
        }
        try await database.close()
    }

    static let names = [
        "", " ", "a\0b", "\0", "a\"b", "a'b", "a;b", "[", "ä", "🥖", "sqlite_x", "ps_kv", "ps_data__x", "id", "select",
        String(repeating: "x", count: 100_000),
    ]

    /// A database with such a schema works, or says why not and has none of it.
    @Test(arguments: names) func schemasOfAnyNameWorkOrAreRefused(_ name: String) async throws {
        let tables = [
            Table(name: name, columns: [.text("a")]),
            Table(name: "t", columns: [.text(name)]),
            Table(
                name: "t",
                columns: [.text("a")],
                indexes: [Index(name: name, columns: [IndexedColumn(column: "a")])]
            ),
            Table(name: "t", columns: [.text("a")], viewNameOverride: name),
        ]
        for table in tables {
            try await withFileDatabase { database in
                try await database.insertUser("Ada", id: "1")
                do {
                    try await database.updateSchema(schema: Schema(tables: testSchema.tables + [table]))
                } catch is PowerSyncError {
                    let objects = try await database.get(
                        sql: "SELECT count(*) FROM sqlite_master WHERE tbl_name LIKE 'ps_data\\_\\_t' ESCAPE '\\'",
                        parameters: []
                    ) { try $0.getInt(index: 0) }
                    #expect(objects == 0)
                }
                #expect(try await database.count("users") == 1)
            }
        }
    }

    @Test func aTableOfAnotherTypeIsAnErrorOfEachOperation() async throws {
        struct Other: BaseTableProtocol { let name = "other" }
        let schema = Schema(Table(name: "users", columns: [.text("name")]), Other())
        #expect(throws: PowerSyncError.self) { try schema.validate() }
        let database = PowerSyncDatabase(schema: schema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
        #expect(error?.localizedDescription.contains("other") == true)
        try await database.close()
        try await withMemoryDatabase { database in
            await #expect(throws: PowerSyncError.self) { try await database.updateSchema(schema: schema) }
            try await database.insertUser("Ada")
        }
    }

    struct Unbindable: Sendable {}

    static let statements = [
        "", "\0", "SELECT ?1000000", "SELECT", "\u{feff}", "SELECT '", "/*", String(repeating: "(", count: 100_000),
    ]

    @Test(arguments: statements) func badStatementsAreErrors(_ sql: String) async throws {
        try await withMemoryDatabase { database in
            await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            await #expect(throws: PowerSyncError.self) { try await database.getAll(sql) { _ in 0 } }
            await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(sql: sql, parameterSets: [[1]])
            }
            let options = WatchOptions(sql: sql) { _ in 0 }
            var rows = try database.watch(options: options).makeAsyncIterator()
            await #expect(throws: PowerSyncError.self) { try await rows.next() }
        }
    }

    @Test func badParametersAreErrors() async throws {
        try await withMemoryDatabase { database in
            for parameters in [[Unbindable()], [UInt64.max], [1, 2]] as [[(any Sendable)?]] {
                await #expect(throws: PowerSyncError.self) {
                    try await database.getAll(sql: "SELECT ?", parameters: parameters) { _ in 0 }
                }
            }
            let unusual: [(any Sendable)?] = [Double.nan, Double.infinity, Int64.min, Data(), "", "\0", nil]
            let types = try await database.get(
                sql: "SELECT typeof(?), typeof(?), typeof(?), typeof(?), typeof(?), length(?), typeof(?)",
                parameters: unusual
            ) { cursor in try (0..<7).map { try cursor.getString(index: $0) } }
            #expect(types == ["null", "real", "integer", "blob", "text", "0", "null"])
        }
    }
}
