import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSQLite

/// One statement of a raw table, ready to be bound.
struct RawTableStatement {
    /// The SQL text, one statement.
    let sql: String
    /// The values of its parameters, in order.
    let parameters: [ClientRawTable.Parameter]
    /// What it can write to.
    let written: WrittenTables
    /// The table that it names; `nil` when that is a view.
    let table: String?
    /// Whether it can fire triggers with conflict clauses, which SQLite ignores in an upsert.
    let firesConflictClauses: Bool
    /// What puts the rows of a direct table whose values have the types of their columns; `nil` where there is no such statement.
    let typed: (sql: String, columns: [TypedRowBinding.Column])?
}

/// The statements of raw tables that an engine has worked out, as long as the database's schema stays the same.
///
/// What the application alters takes effect with the next checkpoint. Copies of the engine's value share the object: what a statement
/// is follows from the schema's version.
final class RawTableStatements: Sendable {
    /// What a statement does.
    enum Kind {
        case put
        /// Writes a row that is there, where no statement is declared.
        case update
        /// Writes a row that is not there, where no statement is declared.
        case insert
        case delete
    }

    private struct Key: Hashable {
        let table: ClientRawTable
        let kind: Kind
    }

    /// What the statements depend on.
    private struct Version: Equatable {
        let main: Int64
        let temporary: Int64
        let enforcesForeignKeys: Bool

        init(_ db: Database) throws {
            func integer(_ sql: String) throws -> Int64 {
                try Int64.fetchOne(db.cachedStatement(sql: sql)) ?? 0
            }
            main = try integer("PRAGMA main.schema_version")
            temporary = try integer("PRAGMA temp.schema_version")
            enforcesForeignKeys = try integer("PRAGMA foreign_keys") != 0
        }
    }

    private struct Known {
        var version: Version?
        var statements: [Key: RawTableStatement] = [:]
    }

    private let known = NIOLockedValueBox(Known())

    /// The statement of a raw table, declared or inferred.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument` when the definition does not fit the statement or the
    ///   database; GRDB's `DatabaseError` when SQLite does not accept the statement.
    func statement(_ db: Database, _ kind: Kind, of table: ClientRawTable) throws -> RawTableStatement {
        let version = try Version(db)
        let key = Key(table: table, kind: kind)
        let found = known.withLockedValue { known in
            if known.version != version { known = Known(version: version) }
            return known.statements[key]
        }
        if let found { return found }
        let statement = try Self.prepare(db, kind, of: table)
        known.withLockedValue { $0.statements[key] = statement }
        return statement
    }

    private static func prepare(
        _ db: Database,
        _ kind: Kind,
        of table: ClientRawTable
    ) throws -> RawTableStatement {
        var typed: (sql: String, columns: [TypedRowBinding.Column])?
        let declared: ClientRawTable.Statement
        switch kind {
        case .put:
            if let put = table.put {
                declared = put
            } else {
                let structure = try RawTableStructure(db, table)
                (declared, typed) = (structure.put, structure.typedPut)
            }
        case .update: declared = try RawTableStructure(db, table).update
        case .insert: declared = try RawTableStructure(db, table).insert
        case .delete: declared = try table.delete ?? RawTableStructure(db, table).delete
        }
        let statements = SQLText.statements(declared.sql)
        guard let sql = statements.first.map(String.init) else {
            throw LocalDatabaseError.invalidArgument("Raw table \(table.name) has an empty \(kind) statement")
        }
        guard statements.count == 1 else {
            throw LocalDatabaseError.invalidArgument(
                """
                The \(kind) statement of raw table \(table.name) is several statements, of which only the first would run; \
                leave the others to a trigger: \(statements.dropFirst().joined(separator: "; "))
                """
            )
        }
        let count = try PreparedStatement(db, sql: sql).parameterCount
        guard count == declared.parameters.count else {
            throw LocalDatabaseError.invalidArgument(
                """
                The \(kind) statement of raw table \(table.name) has \(count.counted("parameter")), \
                but values for \(declared.parameters.count) are declared
                """
            )
        }
        guard kind != .delete || declared.parameters.allSatisfy({ $0 == .id }) else {
            throw LocalDatabaseError.invalidArgument(
                "The delete statement of raw table \(table.name) may only use the parameter Id"
            )
        }
        return RawTableStatement(
            sql: sql,
            parameters: declared.parameters,
            written: try WrittenTables(db, of: sql),
            table: try WrittenTables.target(db, of: sql),
            firesConflictClauses: try firesConflictClauses(db, sql),
            typed: typed
        )
    }

    private static func firesConflictClauses(_ db: Database, _ sql: String) throws -> Bool {
        let triggers = try StatementEffects.triggers(db, of: sql)
        guard !triggers.isEmpty else { return false }
        let texts = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM sqlite_master WHERE type = 'trigger'
                UNION ALL SELECT name, sql FROM sqlite_temp_master WHERE type = 'trigger'
                """
        )
        return texts.contains { row in
            let (name, text): (String, String) = (row[0], row[1])
            return triggers.contains(name) && ["REPLACE", "IGNORE", "FAIL"].contains { text.uppercased().contains($0) }
        }
    }
}
