import Foundation
import GRDB

/// The virtual tables of a schema, and the tables that their contents depend on.
///
/// The columns that a query names say nothing about what it reads of a virtual table: `WHERE fts MATCH 'alpha'` reads the
/// hidden column `fts`, and an update of `body` changes its result. Besides, a virtual table keeps its rows in tables of its
/// own (*shadow tables*, `fts_data`), or in a table or view that its declaration names (`content='notes'`, `fts5vocab(fts, row)`).
struct VirtualTables: Sendable, Equatable {
    /// A table or view of the schema, its names in lower case.
    private struct Object: Sendable, Equatable {
        let name: String
        let isView: Bool
        /// The names in the declaration of a virtual table; `nil` for other tables and for views.
        let declaredNames: Set<String>?
    }

    private let objects: [Object]

    /// Reads the schema.
    ///
    /// - Returns: `nil` when the schema has no virtual table, as in most apps.
    /// - Throws: GRDB's `DatabaseError`.
    init?(_ db: Database) throws {
        // SQLite keeps nothing of a virtual table in the file but its declaration.
        let isVirtual = "type = 'table' AND rootpage = 0"
        let hasAny = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE \(isVirtual))")
        )
        guard hasAny == true else { return nil }
        objects = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, type = 'view', CASE WHEN \(isVirtual) THEN sql END
                    FROM sqlite_master WHERE type IN ('table', 'view')
                    """
            )
        ).map {
            let declaration: String? = $0[2]
            return Object(
                name: ($0[0] as String).lowercased(),
                isView: $0[1],
                declaredNames: declaration?.lowercased().declaredNames
            )
        }
    }

    /// The names of the virtual tables among tables, in lower case, and of their shadow tables.
    func names(among tables: Set<String>) -> Set<String> {
        objects.filter { $0.declaredNames != nil }.reduce(into: []) { names, table in
            let group = group(of: table.name)
            if !group.isDisjoint(with: tables) { names.formUnion(group) }
        }
    }

    /// What a query depends on by the virtual tables that it reads.
    ///
    /// - Parameters:
    ///   - region: What SQLite says that the query reads. It is extended by what lies behind virtual tables.
    ///   - db: The connection.
    /// - Returns: The names of the virtual tables and of their shadow tables, in lower case.
    /// - Throws: GRDB's `DatabaseError`.
    func dependencies(of region: inout DatabaseRegion, _ db: Database) throws -> Set<String> {
        var names: Set<String> = []
        var isComplete = false
        while !isComplete {
            isComplete = true
            for table in objects {
                guard let declared = table.declaredNames, !names.contains(table.name) else { continue }
                let group = group(of: table.name)
                guard group.contains(where: { region.isModified(byEventsOfKind: .delete(tableName: $0)) }) else {
                    continue
                }
                names.formUnion(group)
                for other in objects where !group.contains(other.name) && declared.contains(other.name) {
                    // A view that is broken is no concern of this query.
                    let statement = try? db.makeStatement(sql: "SELECT * FROM \(other.name.quotedDatabaseIdentifier)")
                    if let statement { region.formUnion(statement.databaseRegion) }
                }
                // What was added may be virtual as well.
                isComplete = false
            }
        }
        return names
    }

    /// A virtual table and its shadow tables.
    private func group(of name: String) -> Set<String> {
        var group: Set = [name]
        for other in objects where !other.isView && other.declaredNames == nil && other.name.hasPrefix(name + "_") {
            // `fts_notes_data` belongs to `fts_notes`, not to `fts`.
            let owner = objects.filter { $0.declaredNames != nil && other.name.hasPrefix($0.name + "_") }
                .max { $0.name.utf8.count < $1.name.utf8.count }
            if owner?.name == name { group.insert(other.name) }
        }
        return group
    }
}

extension String {
    /// The names that a declaration may mean, each once: what is in quotes as a whole, and words outside of them, without those
    /// of options, such as `content` in `content='notes'`.
    fileprivate var declaredNames: Set<String> {
        var names: Set<String> = []
        var rest = self[...]
        while let first = rest.first {
            if let end = ["'": "'", "\"": "\"", "`": "`", "[": "]"][first] as Character? {
                var name = ""
                rest.removeFirst()
                while let end = rest.firstIndex(of: end) {
                    name += rest[..<end]
                    let quote = rest[end]
                    rest = rest[rest.index(after: end)...]
                    // Two of them are one of the name.
                    guard quote != "]", rest.first == quote else { break }
                    name.append(quote)
                    rest.removeFirst()
                }
                names.insert(name)
            } else {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
                rest = rest.dropFirst(Swift.max(word.count, 1))
                let isOption = rest.first { $0 != " " } == "="
                if !word.isEmpty, !isOption { names.insert(String(word)) }
            }
        }
        return names
    }
}
