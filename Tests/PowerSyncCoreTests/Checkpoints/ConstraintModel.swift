import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

/// A table with every kind of constraint, and states of its rows at a service that knows none of them.
struct ConstraintModel {
    /// The kinds of table that rows go to.
    enum Kind: CaseIterable {
        case view
        case referencedView
        case inferred
        case ownUpsert
        case ownReplace
        case direct
    }

    /// A row at the service.
    struct Thing: Equatable {
        var position: Int
        var list: String
        var isDefault: Bool
        var amount: Int
        var title: String?
        var parent: String?

        var json: String {
            let title = title.map { "\"\($0)\"" } ?? "null"
            let parent = parent.map { "\"\($0)\"" } ?? "null"
            return """
                {"position":\(position),"list":"\(list)","is_default":\(isDefault),"amount":\(amount),"title":\(title),\
                "parent":\(parent)}
                """
        }

        /// As ``ConstraintModel/query`` reads it.
        var text: String {
            "\(position)|\(list)|\(isDefault ? 1 : 0)|\(amount)|\(title ?? "")|\(parent ?? "")"
        }
    }

    private static let columns = "position, list, is_default, amount, title, parent"

    let kind: Kind
    let scenario: SyncScenario
    private(set) var things: [String: Thing] = [:]
    private(set) var parents: Set<String> = []
    private var opID: Int64 = 0

    init(_ kind: Kind, isDeferred: Bool = false) throws {
        self.kind = kind
        let parents = ClientRawTable(name: "parents", structure: .init(tableName: "local_parents"))
        var things = ClientRawTable(name: "a_things", structure: .init(tableName: "local_things"))
        let names = Self.columns.split(separator: ", ").map(String.init)
        let delete = ClientRawTable.Statement(sql: "DELETE FROM local_things WHERE id = ?", parameters: [.id])
        switch kind {
        case .view, .referencedView, .inferred, .direct: break
        case .ownUpsert:
            let assignments = names.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            things.put = .init(
                sql: """
                    INSERT INTO "local_things" (id, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET \(assignments)
                    """,
                parameters: [.id] + names.map { .column($0) }
            )
            things.delete = delete
        case .ownReplace:
            things.structure = nil
            things.put = .init(
                sql: "REPLACE INTO local_things (id, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
                parameters: [.id] + names.map { .column($0) }
            )
            things.delete = delete
        }
        switch kind {
        case .view, .referencedView:
            scenario = try SyncScenario(
                ClientTable(name: "a_things", columns: names.map { ClientColumn(name: $0, type: .text) }),
                rawTables: [parents]
            )
        case .inferred, .ownUpsert, .ownReplace:
            scenario = try SyncScenario(rawTables: [things, parents])
        case .direct:
            scenario = try SyncScenario(
                Self.directThings(isDeferred: isDeferred),
                ClientTable(name: "parents", columns: [], options: .init(), isDirect: true)
            )
        }
        try scenario.database.run("PRAGMA foreign_keys = ON; CREATE TABLE local_parents (id TEXT PRIMARY KEY)")
        try scenario.database.run(Self.ddl(kind, isDeferred: isDeferred))
        try scenario.start()
    }

    private static func directThings(isDeferred: Bool) -> ClientTable {
        let reference = "REFERENCES parents (id)\(isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : "")"
        return ClientTable(
            name: "a_things",
            columns: [
                .init(name: "position", type: .integer, constraints: ["UNIQUE"]), .init(name: "list", type: .text),
                .init(name: "is_default", type: .integer),
                .init(name: "amount", type: .integer, constraints: ["CHECK (amount < 100)"]),
                .init(name: "title", type: .text, constraints: ["NOT NULL"]),
                .init(name: "parent", type: .text, constraints: [reference]),
            ],
            options: .init(),
            isDirect: true
        )
    }

    /// The table of the things.
    private var table: String { kind == .direct ? "a_things" : "local_things" }

    /// What the app makes.
    static func ddl(_ kind: Kind, isDeferred: Bool = false) -> String {
        switch kind {
        case .view, .referencedView:
            """
            CREATE UNIQUE INDEX one_position ON ps_data__a_things (data ->> 'position');
            CREATE UNIQUE INDEX one_default ON ps_data__a_things (data ->> 'list') WHERE data ->> 'is_default';
            CREATE TRIGGER no_bad_thing BEFORE INSERT ON ps_data__a_things WHEN NEW.data ->> 'title' = 'bad'
            BEGIN SELECT RAISE(ABORT, 'secret'); END;
            \(kind == .view ? "" : """
                CREATE TRIGGER no_bad_update BEFORE UPDATE ON ps_data__a_things WHEN NEW.data ->> 'title' = 'bad'
                BEGIN SELECT RAISE(ABORT, 'secret'); END;
                CREATE TABLE local_notes (id INTEGER PRIMARY KEY, thing TEXT REFERENCES ps_data__a_things (id));
                """)
            """
        case .inferred, .ownUpsert, .ownReplace:
            """
            CREATE TABLE local_things (
                id TEXT PRIMARY KEY NOT NULL,
                position INTEGER UNIQUE,
                list TEXT,
                is_default INTEGER,
                amount INTEGER CHECK (amount < 100),
                title TEXT NOT NULL,
                parent TEXT REFERENCES local_parents (id) \(isDeferred ? "DEFERRABLE INITIALLY DEFERRED" : "")
            ) STRICT;
            \(additions(to: "local_things"))
            """
        case .direct: additions(to: "a_things")
        }
    }

    private static func additions(to table: String) -> String {
        """
        CREATE UNIQUE INDEX one_default ON \(table) (list) WHERE is_default;
        CREATE TRIGGER no_bad_thing BEFORE INSERT ON \(table) WHEN NEW.title = 'bad'
        BEGIN SELECT RAISE(ABORT, 'secret'); END;
        CREATE TRIGGER no_bad_update BEFORE UPDATE ON \(table) WHEN NEW.title = 'bad'
        BEGIN SELECT RAISE(ABORT, 'secret'); END;
        """
    }

    /// Publishes a state of the service.
    ///
    /// - Returns: What the engine logs.
    mutating func publish(
        _ state: [String: Thing],
        parents newParents: Set<String>
    ) throws -> [SyncAction] {
        var lines: [SyncLine] = []
        func next() -> Int64 {
            opID += 1
            return opID
        }
        for id in Set(things.keys).subtracting(state.keys) {
            lines.append(.ops("a", .remove(next(), id, type: "a_things")))
        }
        for id in parents.subtracting(newParents) { lines.append(.ops("a", .remove(next(), id, type: "parents"))) }
        for id in newParents.subtracting(parents) {
            lines.append(.ops("a", .put(next(), id, type: "parents", data: "{}")))
        }
        for (id, thing) in state where things[id] != thing {
            lines.append(.ops("a", .put(next(), id, type: "a_things", data: thing.json)))
        }
        let isFirst = things.isEmpty && parents.isEmpty
        (things, parents) = (state, newParents)
        let checkpoint: SyncLine =
            scenario.status.lastSyncedAt == nil && isFirst ? .checkpoint(opID, [.bucket("a")]) : .diff(opID)
        return try scenario.send(([checkpoint] + lines + [.done]).map { .line($0) })
    }

    /// The rows that are shown, by id.
    var shown: [String: String] {
        get throws {
            let rows = try scenario.database.rows(query)
            return Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let parts = row.split(separator: "|", maxSplits: 1)
                    return (String(parts[0]), String(parts[1]))
                }
            )
        }
    }

    private var query: String {
        switch kind {
        case .view, .referencedView:
            """
            SELECT id, data ->> 'position', data ->> 'list', data ->> 'is_default', data ->> 'amount', data ->> 'title',
                data ->> 'parent' FROM ps_data__a_things
            """
        case .inferred, .ownUpsert, .ownReplace, .direct: "SELECT id, \(Self.columns) FROM \(table)"
        }
    }

    /// The ids of the rows that are set aside.
    var setAside: Set<String> { Set(scenario.status.setAside.rows.map(\.id)) }

    /// Whether the rows that are shown would refuse a row, asked of them without the row itself.
    func refuses(_ id: String) throws -> Bool {
        guard let thing = things[id] else { return false }
        struct Undo: Error {}
        do {
            try scenario.write { db in
                try Publishing.whilePublishing(db) {
                    switch kind {
                    case .view, .referencedView:
                        try db.execute(sql: "DELETE FROM ps_data__a_things WHERE id = ?", arguments: [id])
                        try db.execute(
                            sql: "INSERT INTO ps_data__a_things (id, data) VALUES (?, ?)",
                            arguments: [id, thing.json]
                        )
                    case .inferred, .ownUpsert, .ownReplace, .direct:
                        try db.execute(sql: "DELETE FROM \(table) WHERE id = ?", arguments: [id])
                        try db.execute(
                            sql: "INSERT INTO \(table) (id, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
                            arguments: [
                                id, thing.position, thing.list, thing.isDefault, thing.amount, thing.title,
                                thing.parent,
                            ]
                        )
                        if let parent = thing.parent, !parents.contains(parent) { throw DatabaseError() }
                    }
                }
                throw Undo()
            }
            return false
        } catch is Undo {
            return false
        } catch is DatabaseError {
            return true
        }
    }
}
