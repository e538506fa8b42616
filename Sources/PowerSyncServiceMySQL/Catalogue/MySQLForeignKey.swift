import PowerSyncMySQLConnection
import PowerSyncSyncConfig

/// A foreign key with a rule that changes rows of the child: `CASCADE`, `SET NULL` or `SET DEFAULT`.
struct MySQLForeignKey: Sendable, Hashable {
    /// The name, one of its schema.
    var name: String
    /// The table with the key.
    var child: SourceTableName
    /// The columns of the child.
    var columns: [String]
    /// The table that it refers to.
    var parent: SourceTableName
    /// The columns of the parent, in the order of ``columns``.
    var parentColumns: [String]
    /// Whether a deleted parent changes children.
    var followsDeletes: Bool
    /// Whether a parent with other values changes children.
    var followsUpdates: Bool
}

extension MySQLForeignKey {
    /// Reads the keys of all tables of some schemas, and of the schemas to which they refer, and so on.
    ///
    /// - Parameters:
    ///   - schemas: The schemas.
    ///   - connection: A connection.
    /// - Returns: The keys that change rows of the child.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    static func all(in schemas: Set<String>, _ connection: MySQLConnection) async throws -> [MySQLForeignKey] {
        var keys: [MySQLForeignKey] = []
        var read: Set<String> = []
        var next = schemas
        while !next.isEmpty {
            let names = next.sorted().map { MySQLText.literal($0) }.joined(separator: ", ")
            // MariaDB shows rules only to an account that may write the table: those of others are in the statement that makes it.
            let rows = try await connection.texts(
                """
                SELECT k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME,
                    k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.UPDATE_RULE, r.DELETE_RULE
                FROM information_schema.KEY_COLUMN_USAGE k
                LEFT JOIN information_schema.REFERENTIAL_CONSTRAINTS r ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA
                    AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
                WHERE k.TABLE_SCHEMA IN (\(names)) AND k.REFERENCED_TABLE_NAME IS NOT NULL
                ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION
                """
            )
            var found = Parts(rows).keys
            var statements: [SourceTableName: String] = [:]
            for table in Set(found.filter { $0.rules == nil }.map(\.key.child)) {
                let statement = try await connection.texts("SHOW CREATE TABLE \(table.mysqlQuoted)").first
                statements[table] = statement.flatMap { $0.count > 1 ? $0[1] : nil }
            }
            for index in found.indices where found[index].rules == nil {
                let key = found[index].key
                found[index].rules = statements[key.child].flatMap { Rules(of: key.name, in: $0) } ?? .unknown
            }
            keys += found.compactMap { found in
                var key = found.key
                key.followsDeletes = found.rules?.followsDeletes ?? true
                key.followsUpdates = found.rules?.followsUpdates ?? true
                return key.followsDeletes || key.followsUpdates ? key : nil
            }
            read.formUnion(next)
            next = Set(found.map(\.key.parent.schema)).subtracting(read)
        }
        return keys
    }

    /// What happens to children.
    struct Rules: Sendable, Hashable {
        var followsDeletes: Bool
        var followsUpdates: Bool

        /// Of a key whose rules cannot be read: to look at children that have not changed is never wrong.
        static let unknown = Rules(followsDeletes: true, followsUpdates: true)

        private static let changing: Set<String> = ["CASCADE", "SET NULL", "SET DEFAULT"]

        init(followsDeletes: Bool, followsUpdates: Bool) {
            self.followsDeletes = followsDeletes
            self.followsUpdates = followsUpdates
        }

        /// Reads `UPDATE_RULE` and `DELETE_RULE`; `nil` when they are not shown.
        init?(update: String?, delete: String?) {
            guard let update, let delete else { return nil }
            self.init(
                followsDeletes: Self.changing.contains(delete),
                followsUpdates: Self.changing.contains(update)
            )
        }

        /// Reads the line of a key in what `SHOW CREATE TABLE` prints; `nil` without such a line.
        ///
        /// ```
        ///   CONSTRAINT `name` FOREIGN KEY (`a`) REFERENCES `parent` (`b`) ON DELETE CASCADE ON UPDATE SET NULL,
        /// ```
        init?(of name: String, in statement: String) {
            let start = "CONSTRAINT \(MySQLText.identifier(name)) FOREIGN KEY "
            // A name may have a line feed; a line of a comment begins otherwise.
            guard let range = statement.firstRange(of: "\n  \(start)") else { return nil }
            let rest = statement[range.upperBound...]
            let line = rest[..<(rest.firstRange(of: "\n")?.lowerBound ?? rest.endIndex)]
            // Behind the last name: rules are words, and names are in backticks.
            let rules = line[(line.lastIndex(of: "`") ?? line.startIndex)...]
            func changes(_ event: String) -> Bool {
                Self.changing.contains { rules.contains("ON \(event) \($0)") }
            }
            self.init(followsDeletes: changes("DELETE"), followsUpdates: changes("UPDATE"))
        }
    }

    /// Keys from the rows of the query, which have one column of a key each.
    private struct Parts {
        var keys: [(key: MySQLForeignKey, rules: Rules?)] = []

        init(_ rows: [[String?]]) {
            for row in rows {
                guard row.count == 9, let schema = row[0], let table = row[1], let name = row[2], let column = row[3],
                    let parentSchema = row[4], let parent = row[5], let parentColumn = row[6]
                else { continue }
                let child = SourceTableName(schema: schema, name: table)
                if keys.last?.key.child != child || keys.last?.key.name != name {
                    let key = MySQLForeignKey(
                        name: name,
                        child: child,
                        columns: [],
                        parent: SourceTableName(schema: parentSchema, name: parent),
                        parentColumns: [],
                        followsDeletes: true,
                        followsUpdates: true
                    )
                    keys.append((key: key, rules: Rules(update: row[7], delete: row[8])))
                }
                keys[keys.count - 1].key.columns.append(column)
                keys[keys.count - 1].key.parentColumns.append(parentColumn)
            }
        }
    }
}

extension [MySQLForeignKey] {
    /// The keys on the way from some tables to all of their ancestors.
    func reached(from tables: Set<SourceTableName>) -> [MySQLForeignKey] {
        var reached = tables
        var next = tables
        while !next.isEmpty {
            next = Set(filter { next.contains($0.child) }.map(\.parent)).subtracting(reached)
            reached.formUnion(next)
        }
        return filter { reached.contains($0.child) }
    }
}
