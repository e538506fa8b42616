import GRDB
import PowerSyncSQLite

/// The tables that statements write to, for GRDB's observers, which do not see statements that are stepped by hand.
enum WrittenTables: Equatable {
    /// These.
    case tables(Set<ExactText>)
    /// It is not known.
    case anything

    /// None.
    static let none = WrittenTables.tables([])

    /// Adds other tables.
    mutating func formUnion(_ other: WrittenTables) {
        guard case .tables(let names) = self, case .tables(let others) = other else {
            self = .anything
            return
        }
        self = .tables(names.union(others))
    }
}

extension WrittenTables {
    /// The tables that a statement of the application can write to while rows are published, triggers and foreign key
    /// actions included.
    ///
    /// The result is ``anything`` for a statement that is not seen to write, and for one that writes to a virtual table, which
    /// writes to others, to a temporary table or to the schema. Those of the upload queue ignore what is written while rows are
    /// published. `sqlite_sequence`, of which SQLite tells no observer, does not count.
    init(_ db: Database, of sql: String) throws {
        let queue = QueueModule.Kind.allCases.map(\.name)
        var names: Set<ExactText> = []
        for name in try StatementEffects.tables(db, of: sql) where !queue.contains(name) {
            switch try Kind(db, of: name) {
            case .table: names.insert(ExactText(name))
            // Its triggers write.
            case .view: break
            case .other:
                self = .anything
                return
            }
        }
        self = names.isEmpty ? .anything : .tables(names)
    }

    /// The table that a statement writes to by itself, without triggers and foreign key actions; `nil` for a view.
    static func target(_ db: Database, of sql: String) throws -> String? {
        guard let name = try StatementEffects.tables(db, of: sql).first, try Kind(db, of: name) == .table else {
            return nil
        }
        return name
    }

    /// What a name stands for in the main database.
    private enum Kind: Equatable {
        case table, view
        /// A virtual table, or one of another database.
        case other

        init(_ db: Database, of name: String) throws {
            let statement = try db.cachedStatement(
                sql: """
                    SELECT type, rootpage FROM main.sqlite_master WHERE name = ?1 AND type IN ('table', 'view')
                        AND NOT EXISTS (SELECT 1 FROM temp.sqlite_master WHERE name = ?1 COLLATE NOCASE)
                    """
            )
            guard let row = try Row.fetchOne(statement, arguments: [name]) else {
                self = .other
                return
            }
            // SQLite keeps nothing of a virtual table in the file but its declaration.
            let (type, rootPage): (String, Int64?) = (row[0], row[1])
            self = type == "view" ? .view : rootPage ?? 0 > 0 ? .table : .other
        }
    }
}
