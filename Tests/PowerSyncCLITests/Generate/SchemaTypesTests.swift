import Foundation
import GRDB
import PowerSyncGenerator
import PowerSyncServiceCore
import PowerSyncServiceSQLite
import PowerSyncSyncConfig
import TestSupport
import Testing

/// What schemas say about the values of columns: statements mean what PostgreSQL means by them, a database what SQLite does.
@Suite struct SchemaTypesTests {
    private static let statements = """
        CREATE TABLE t (id integer PRIMARY KEY, owner_id integer, is_public boolean, meta jsonb, price numeric, note text);
        """
    private static let config = """
        config: {edition: 3}
        streams:
          json: {auto_subscribe: true, query: "SELECT * FROM t WHERE meta ->> 'shared' = 'true'"}
          bool: {auto_subscribe: true, query: "SELECT * FROM t WHERE is_public = 'true'"}
          int: {auto_subscribe: true, query: "SELECT * FROM t WHERE owner_id = auth.user_id()"}
          numeric: {auto_subscribe: true, query: "SELECT * FROM t WHERE price > 1000"}
          text: {auto_subscribe: true, query: "SELECT * FROM t WHERE note = 5"}
        """

    /// The lines of the findings.
    private func lines(_ schema: SourceSchema) -> [String] {
        SyncConfig.parse(Self.config, schema: schema).diagnostics.map { "\($0.line) \($0.code)" }
    }

    private static let all = [
        "3 filter.never", "4 filter.never", "5 filter.never", "6 filter.always", "7 filter.never",
    ]

    @Test func statementsMeanWhatPostgreSQLMeans() async throws {
        #expect(lines(try SourceSchema(statements: Self.statements)) == Self.all)
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "schema.sql").path
            try Self.statements.write(toFile: file, atomically: true, encoding: .utf8)
            #expect(lines(try SourceSchema(contentsOf: file)) == Self.all)
        }
    }

    @Test func aDatabaseMeansWhatSQLiteMeans() async throws {
        // What is declared boolean or numeric holds anything there.
        let sqlite = ["3 filter.never", "5 filter.never", "7 filter.never"]
        try await withTemporaryDirectory { folder in
            let file = folder.appending(path: "app.db").path
            let database = try DatabaseQueue(path: file)
            try await database.write { db in try db.execute(sql: Self.statements) }
            try database.close()
            #expect(
                lines(try await EmbeddedSourceModule(path: file, statements: []).readTables(for: nil).schema) == sqlite
            )
            #expect(lines(try SourceSchema(contentsOf: file)) == sqlite)
        }
    }

    @Test func aConfigTestMayDeclareTypes() async throws {
        let test = ConfigTest(
            parsing: """
                config: {path: sync.yaml}
                schema:
                  t: {id: integer, owner_id: integer, is_public: boolean, meta: jsonb, price: numeric, note: text}
                cases: [{name: a user, as: u1}]
                """
        )
        guard case .tables(let schema)? = test.schema else {
            Issue.record("\(test.findings)")
            return
        }
        #expect(lines(schema) == Self.all)
    }
}
