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
        /// The declaration of a virtual table; `nil` for other tables and for views.
        let declaration: String?
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
            Object(name: ($0[0] as String).lowercased(), isView: $0[1], declaration: ($0[2] as String?)?.lowercased())
        }
    }

    /// The names of the virtual tables among tables, in lower case, and of their shadow tables.
    func names(among tables: Set<String>) -> Set<String> {
        objects.filter { $0.declaration != nil }.reduce(into: []) { names, table in
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
                guard let declaration = table.declaration, !names.contains(table.name) else { continue }
                let group = group(of: table.name)
                guard group.contains(where: { region.isModified(byEventsOfKind: .delete(tableName: $0)) }) else {
                    continue
                }
                names.formUnion(group)
                for other in objects where !group.contains(other.name) && declaration.hasWord(other.name) {
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
        for other in objects where !other.isView && other.declaration == nil && other.name.hasPrefix(name + "_") {
            // `fts_notes_data` belongs to `fts_notes`, not to `fts`.
            let owner = objects.filter { $0.declaration != nil && other.name.hasPrefix($0.name + "_") }
                .max { $0.name.utf8.count < $1.name.utf8.count }
            if owner?.name == name { group.insert(other.name) }
        }
        return group
    }
}

extension String {
    /// Whether a name occurs that is not a part of a longer one, nor that of an option, as `content` in `content='notes'`.
    fileprivate func hasWord(_ name: String) -> Bool {
        func isPartOfName(_ character: Character) -> Bool {
            character.isLetter || character.isNumber || character == "_"
        }
        var start = startIndex
        while let found = range(of: name, range: start..<endIndex) {
            let isBegun = found.lowerBound == startIndex || !isPartOfName(self[index(before: found.lowerBound)])
            let isEnded = found.upperBound == endIndex || !isPartOfName(self[found.upperBound])
            let isOption = self[found.upperBound...].first { $0 != " " } == "="
            if isBegun, isEnded, !isOption { return true }
            start = index(after: found.lowerBound)
        }
        return false
    }
}
