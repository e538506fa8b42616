import Logging
import NIOCore
import PostgresNIO
import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncUpload

/// A connection to PostgreSQL.
///
/// Values are sent as texts, and converted there by a cast to the type of their column; many values as the text of an array.
struct PostgresServer: UploadServer {
    private let connection: PostgresConnection
    private let logger: Logger

    init(_ connection: PostgresConnection, _ logger: Logger) {
        self.connection = connection
        self.logger = logger
    }

    /// The key of the lock that requests hold which are begun again: “powersyn” in ASCII.
    private static let againKey = 0x706f_7765_7273_796e

    func begin(isAgain: Bool) async throws {
        try await run("BEGIN")
        try await run("SET LOCAL lock_timeout = '5s'")
        // A deadlock is noticed after a second: eight devices that write the same rows would meet again and again.
        if isAgain { try await query("SELECT pg_advisory_xact_lock(\(Self.againKey))") }
    }

    func run(_ statement: String) async throws {
        try await query(statement)
    }

    func transaction(_ statements: AppStatements) -> PostgresUploadTransaction {
        PostgresUploadTransaction(connection: connection, logger: logger, statements: statements)
    }

    /// Runs a statement whose parameters and results are texts.
    @discardableResult
    func query(_ sql: String, _ parameters: [String?] = []) async throws -> [[String?]] {
        var binds = PostgresBindings(capacity: parameters.count)
        for parameter in parameters { binds.append(parameter) }
        let rows = try await connection.rows(PostgresQuery(unsafeSQL: sql, binds: binds), logger)
        return rows.map { row in row.map { cell in cell.bytes.map { String(buffer: $0) } } }
    }

    // MARK: - Tables

    func tables(named names: [String]) async throws -> [ServerTable] {
        let rows = try await query(
            """
            SELECT c.relname::text, quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname::text,
                format_type(a.atttypid, CASE WHEN t.typname = 'numeric' THEN a.atttypmod ELSE -1 END),
                coalesce(b.typname, t.typname)::text, coalesce(b.typcategory, t.typcategory)::text,
                CASE WHEN coalesce(b.typname, t.typname) IN ('varchar', 'bpchar')
                    THEN nullif(CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END, -1) - 4 END::text,
                (a.attgenerated = '' AND a.attidentity <> 'a')::text,
                (a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))::text,
                (SELECT l.collisdeterministic FROM pg_collation AS l WHERE l.oid = a.attcollation)::text,
                (EXISTS (SELECT FROM pg_inherits AS u WHERE u.inhrelid = c.oid) OR (SELECT bool_or(k.relhasrules
                    OR k.oid <> c.oid AND k.relname = ANY ($1::text::name[])
                    OR EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = k.oid AND NOT g.tgisinternal)
                    OR EXISTS (SELECT FROM pg_constraint AS f WHERE f.confrelid = k.oid
                        AND (f.confdeltype IN ('c', 'n', 'd') OR f.confupdtype IN ('c', 'n', 'd'))))
                    FROM (WITH RECURSIVE parts(oid) AS (
                        SELECT c.oid UNION SELECT h.inhrelid FROM pg_inherits AS h JOIN parts ON h.inhparent = parts.oid
                    ) SELECT parts.oid FROM parts) AS part JOIN pg_class AS k ON k.oid = part.oid))::text
            FROM pg_class AS c
            JOIN pg_namespace AS n ON n.oid = c.relnamespace
            JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            JOIN pg_type AS t ON t.oid = a.atttypid
            LEFT JOIN pg_type AS b ON t.typtype = 'd' AND b.oid = t.typbasetype
            LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
            WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname = ANY ($1::text::name[])
            ORDER BY c.relname, a.attnum
            """,
            [ArrayText.text(of: names)]
        )
        var tables: [ServerTable] = []
        var index = 0
        while index < rows.count {
            let first = rows[index]
            var columns: [ServerColumn] = []
            var key: [String] = []
            // Not by `==`, which takes canonically equivalent names for equal.
            while index < rows.count, rows[index][1]?.utf8.elementsEqual((first[1] ?? "").utf8) == true {
                let column = Self.column(rows[index])
                columns.append(column)
                if rows[index][8] == "true" { key.append(column.name) }
                index += 1
            }
            tables.append(
                ServerTable(
                    name: first[0] ?? "",
                    sqlName: first[1] ?? "",
                    columns: columns,
                    key: key,
                    hasSideEffects: first[10] != "false"
                )
            )
        }
        return tables
    }

    private static func column(_ row: [String?]) -> ServerColumn {
        ServerColumn(
            name: row[2] ?? "",
            type: row[3] ?? "text",
            kind: kind(ofType: row[4] ?? "", category: row[5] ?? ""),
            length: row[6].flatMap { Int($0) },
            isWritable: row[7] == "true",
            storesNUL: false,
            isExact: row[9] != "false"
        )
    }

    private static func kind(ofType name: String, category: String) -> ServerColumn.Kind {
        switch name {
        case "text", "varchar": .text
        case "bpchar": .fixedText
        case "int2": .integer(bytes: 2, isUnsigned: false)
        case "int4": .integer(bytes: 4, isUnsigned: false)
        case "int8": .integer(bytes: 8, isUnsigned: false)
        case "numeric": .decimal
        case "float4", "float8": .real
        case "bool": .boolean
        case "uuid": .uuid
        case "json", "jsonb": .json
        case "bytea": .bytes
        default: category == "A" ? .array : category == "D" || category == "T" ? .time : .other
        }
    }

    /// A name in SQL.
    static func identifier(_ name: String) -> String {
        "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }

    func rows(
        of table: ServerTable,
        ids: [String],
        in column: ServerColumn,
        withValues: Bool
    ) async throws -> [StoredRow] {
        let id = "t.\(Self.identifier(column.name))"
        let names = withValues ? table.columns.map(\.name) : [column.name]
        let columns = names.map { "t.\(Self.identifier($0))::text" }.joined(separator: ", ")
        let rowColumns = withValues ? table.rowColumns : StoredRow.Columns(names)
        // In one order, so that two requests do not wait for each other.
        return try await query(
            """
            SELECT \(columns) FROM \(table.sqlName) AS t WHERE \(id) = ANY ($1::text::text[]::\(column.type)[])
            ORDER BY \(id) FOR NO KEY UPDATE
            """,
            [ArrayText.text(of: ids)]
        ).map { StoredRow(rowColumns, $0) }
    }

    func stores(_ text: String, in column: ServerColumn) async throws -> Bool {
        try await run("SAVEPOINT ps_cast")
        do {
            let read = try await query("SELECT $1::text::\(column.type)::text", [text])
            try await run("RELEASE SAVEPOINT ps_cast")
            return read.first?.first.flatMap { $0.map { $0.utf8.elementsEqual(text.utf8) } } ?? false
        } catch {
            guard case .values = fault(of: error) else { throw error }
            try await run("ROLLBACK TO SAVEPOINT ps_cast")
            return false
        }
    }

    func text(of value: ExactJSON, for column: ServerColumn, in table: String) throws -> String? {
        switch (value, column.kind) {
        case (.array(let values), .array):
            let text = ArrayText.text(of: values)
            return try column.text(of: .string(text), in: table)
        case (.string(let text), .array) where text.hasPrefix("["):
            guard case .array(let values) = try? ExactJSON(parsing: ByteBuffer(string: text)) else {
                throw column.refusal(in: table)
            }
            return try column.text(of: .string(ArrayText.text(of: values)), in: table)
        case (_, .bytes): return try column.text(of: value, in: table).map { "\\x\($0)" }
        default: return try column.text(of: value, in: table)
        }
    }

    // MARK: - Writing

    func write(_ batch: WriteBatch) async throws {
        let id = Self.identifier(batch.idColumn.name)
        let columns = batch.columns.map { Self.identifier($0.name) }
        // The first is the id.
        let values = batch.columns.enumerated().map { "u.c\($0 + 1)::\($1.type)" }
        let names = (0...columns.count).map { "c\($0)" }.joined(separator: ", ")
        let arrays = (1...columns.count + 1).map { "$\($0)::text::text[]" }.joined(separator: ", ")
        let source = "unnest(\(arrays)) AS u(\(names))"
        let idValue = "u.c0::\(batch.idColumn.type)"
        let sql: String
        switch batch.kind {
        case .insert:
            sql = """
                INSERT INTO \(batch.table.sqlName) (\(([id] + columns).joined(separator: ", ")))
                SELECT \(([idValue] + values).joined(separator: ", ")) FROM \(source)
                """
        case .update:
            let sets = zip(columns, values).map { "\($0) = \($1)" }.joined(separator: ", ")
            sql = "UPDATE \(batch.table.sqlName) AS t SET \(sets) FROM \(source) WHERE t.\(id) = \(idValue)"
        case .delete:
            sql = "DELETE FROM \(batch.table.sqlName) AS t USING \(source) WHERE t.\(id) = \(idValue)"
        }
        let parameters =
            [ArrayText.text(of: batch.rows.map(\.id))]
            + columns.indices.map { index in ArrayText.text(of: batch.rows.map { $0.values[index] }) }
        try await query(sql, parameters)
    }

    func checkReferences(isLast: Bool) async throws {
        guard !isLast else { return try await run("SET CONSTRAINTS ALL IMMEDIATE") }
        // A name is that of all constraints in the schema that have it, which need not be deferrable, or deferred at first.
        let deferred = try await query(
            """
            SELECT string_agg(DISTINCT quote_ident(n.nspname) || '.' || quote_ident(c.conname), ', '),
                bool_and(has_schema_privilege(n.oid, 'USAGE') AND NOT EXISTS (SELECT FROM pg_constraint AS o
                    WHERE o.connamespace = c.connamespace AND o.conname = c.conname AND NOT o.condeferred))::text
            FROM pg_constraint AS c JOIN pg_namespace AS n ON n.oid = c.connamespace WHERE c.condeferred
            """
        )
        guard let row = deferred.first, let names = row[0] else { return }
        if row[1] == "true" {
            try await run("SET CONSTRAINTS \(names) IMMEDIATE")
            try await run("SET CONSTRAINTS \(names) DEFERRED")
        } else {
            // What is rolled back is the setting, not the rows; all of them are checked again the next time.
            try await run("SAVEPOINT ps_references")
            try await run("SET CONSTRAINTS ALL IMMEDIATE")
            try await run("ROLLBACK TO SAVEPOINT ps_references")
            try await run("RELEASE SAVEPOINT ps_references")
        }
    }

    func fault(of error: any Error) -> ServerFault {
        guard let error = error as? PSQLError, let info = error.serverInfo, let state = info[.sqlState] else {
            return .other
        }
        let message = ServerMessage.ofPostgres(info[.message] ?? state, state: state)
        switch state {
        case "23505": return .duplicate(message)
        // A serialization failure, a deadlock, a lock that was waited for too long.
        case "40001", "40P01", "55P03": return .concurrency
        // Raised by the app's functions, a check of a view, an index entry that is too large, a type that does not fit.
        case "P0001", "P0004", "44000", "54000", "42804": return .values(message)
        // The check of a policy of row-level security; other missing privileges are the server's fault.
        case "42501" where info[.routine] == "ExecWithCheckOptions": return .values(message)
        default: return state.hasPrefix("22") || state.hasPrefix("23") ? .values(message) : .other
        }
    }

    func serverError(_ error: any Error) -> UploadServerError? {
        guard let info = (error as? PSQLError)?.serverInfo else { return nil }
        return UploadServerError(sqlState: info[.sqlState], message: info[.message] ?? "")
    }
}
