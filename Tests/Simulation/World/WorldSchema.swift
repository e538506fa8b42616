import PowerSync

/// The tables of the app: in the source, in clients, and who gets which rows with which priority.
///
/// Users are members of spaces. A space has lists and todos, and docs for who subscribes to them; notes belong to one user. Each version of
/// a row has a tag that no other write uses, so that what a device shows says which write it comes from.
enum WorldSchema {
    /// The table whose rows a device gets of the spaces that it subscribes to, with any priority; apps do not write to it.
    static let docs = "docs"
    /// The stream that has the docs of a space without their bodies.
    ///
    /// So a row may be in two buckets, of other priorities and with other columns, which do not change at the same time.
    static let titles = "titles"

    /// The streams that a device may subscribe to for a space.
    static func streams(of space: String) -> [String] { ["s0", "s1", "s2"].contains(space) ? [docs, titles] : [docs] }

    /// The tables that everybody gets, by their priorities.
    static let tables: [(name: String, priority: Int)] = [
        ("spaces", 1), ("lists", 1), ("todos", 2), ("notes", 3),
    ]

    /// The priorities, the most urgent first.
    static let priorities = [1, 2, 3]

    /// The ids of the spaces.
    static let spaces = (0..<6).map { "s\($0)" }

    /// A column of todos that comes and goes, in the source and in apps; every row has the same value there until it is changed.
    static let extra = "extra"

    /// Where a statement sets ``extra`` to its first argument, when there is such a column.
    static let extraAssignment = "/* extra */"

    /// Creates the source.
    static let source = [
        "CREATE TABLE spaces (id TEXT PRIMARY KEY, name TEXT, tag TEXT)",
        "CREATE TABLE members (id TEXT PRIMARY KEY, space_id TEXT, user_id TEXT, tag TEXT)",
        "CREATE TABLE lists (id TEXT PRIMARY KEY, space_id TEXT, name TEXT, tag TEXT)",
        "CREATE TABLE todos (id TEXT PRIMARY KEY, space_id TEXT, list_id TEXT, title TEXT, tag TEXT)",
        "CREATE TABLE notes (id TEXT PRIMARY KEY, owner_id TEXT, body TEXT, tag TEXT)",
        "CREATE TABLE docs (id TEXT PRIMARY KEY, space_id TEXT, body TEXT, tag TEXT)",
    ]

    /// Creates `audit`, which has each change of a row, in the order in which they were made.
    ///
    /// It is not a table of the app: nothing of it is synced.
    static var audit: [String] {
        let table = """
            CREATE TABLE audit (seq INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT, id TEXT, tag TEXT, scope TEXT, user_id TEXT)
            """
        return [table]
            + scopes.flatMap { name, scope, user in
                let (scopeValue, userValue) = ("NEW.\(scope)", user.map { "NEW.\($0)" } ?? "NULL")
                let insert = "INSERT INTO audit(\"table\", id, tag, scope, user_id) VALUES ('\(name)',"
                return [
                    "CREATE TRIGGER audit_\(name)_i AFTER INSERT ON \(name) BEGIN \(insert) NEW.id, NEW.tag, \(scopeValue), \(userValue)); END",
                    "CREATE TRIGGER audit_\(name)_u AFTER UPDATE ON \(name) BEGIN \(insert) NEW.id, NEW.tag, \(scopeValue), \(userValue)); END",
                    "CREATE TRIGGER audit_\(name)_d AFTER DELETE ON \(name) BEGIN \(insert) OLD.id, NULL, NULL, NULL); END",
                ]
            }
    }

    /// The column of a table that says who gets a row: a space, or a user.
    static func scope(of table: String) -> String { scopes.first { $0.table == table }?.scope ?? "id" }

    /// The column that says who gets a row, of each table: a space, or a user.
    private static let scopes: [(table: String, scope: String, user: String?)] = [
        ("spaces", "id", nil), ("members", "space_id", "user_id"), ("lists", "space_id", nil),
        ("todos", "space_id", nil), ("notes", "owner_id", nil), ("docs", "space_id", nil),
    ]

    /// The columns of todos in a version of the app, beside `id`.
    private static func todos(_ version: Int) -> [Column] {
        let title: [Column] = version == 2 ? [] : [.text("title")]
        let more: [Column] = version == 0 ? [] : [.text(extra)]
        return [.text("space_id"), .text("list_id")] + title + more + [.text("tag")]
    }

    /// How many versions of the app there are: the second one has ``extra``, the third one has it, too, and no title and an index.
    static let versions = 3

    /// The tables of a version of the app.
    static func client(_ version: Int) -> Schema {
        let index = Index(name: "by_space", columns: [IndexedColumn.ascending("space_id")])
        return Schema(tables: [
            Table(name: "spaces", columns: [.text("name"), .text("tag")]),
            Table(name: "lists", columns: [.text("space_id"), .text("name"), .text("tag")]),
            Table(name: "todos", columns: todos(version), indexes: version == 2 ? [index] : []),
            Table(name: "notes", columns: [.text("owner_id"), .text("body"), .text("tag")]),
            Table(name: docs, columns: [.text("space_id"), .text("body"), .text("tag")]),
        ])
    }

    /// What a user may see of a table, in the source; the user is the argument.
    static func query(_ table: String) -> String {
        let spaces = "SELECT space_id FROM members WHERE user_id = ?1"
        return switch table {
        case "spaces": "SELECT * FROM spaces WHERE id IN (\(spaces))"
        case "notes": "SELECT * FROM notes WHERE owner_id = ?1"
        default: "SELECT * FROM \(table) WHERE space_id IN (\(spaces))"
        }
    }

    /// Sync configs that give every user the same rows with the same priorities, in other ways.
    static let configs = [
        """
        config: {edition: 3}
        with:
          my_spaces: SELECT space_id FROM members WHERE user_id = auth.user_id()
        streams:
          spaces:
            auto_subscribe: true
            priority: 1
            queries:
              - SELECT * FROM spaces WHERE id IN my_spaces
              - SELECT * FROM lists WHERE space_id IN my_spaces
          todos:
            auto_subscribe: true
            priority: 2
            query: SELECT * FROM todos WHERE space_id IN my_spaces
          notes:
            auto_subscribe: true
            query: SELECT * FROM notes WHERE owner_id = auth.user_id()
          docs:
            query: SELECT * FROM docs WHERE space_id = subscription.parameter('space') AND space_id IN my_spaces
          titles:
            query: |
              SELECT id, space_id, tag FROM docs WHERE space_id = subscription.parameter('space') AND space_id IN my_spaces
        """,
        """
        config: {edition: 3}
        streams:
          spaces_alone:
            auto_subscribe: true
            priority: 1
            query: SELECT spaces.* FROM spaces, members WHERE spaces.id = members.space_id AND members.user_id = auth.user_id()
          lists_alone:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE space_id IN (SELECT space_id FROM members WHERE user_id = auth.user_id())
          todos:
            auto_subscribe: true
            priority: 2
            query: SELECT * FROM todos WHERE space_id IN (SELECT space_id FROM members WHERE user_id = auth.user_id())
          notes:
            auto_subscribe: true
            priority: 3
            query: SELECT * FROM notes WHERE owner_id = auth.user_id()
          docs:
            query: |
              SELECT docs.* FROM docs, members WHERE docs.space_id = members.space_id AND members.user_id = auth.user_id()
              AND members.space_id = subscription.parameter('space')
          titles:
            query: |
              SELECT docs.id, docs.space_id, docs.tag FROM docs, members WHERE docs.space_id = members.space_id
              AND members.user_id = auth.user_id() AND members.space_id = subscription.parameter('space')
        """,
    ]
}
