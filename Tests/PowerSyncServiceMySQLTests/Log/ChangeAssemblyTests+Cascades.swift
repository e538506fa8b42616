import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Rules of foreign keys, which change rows that the log does not have.
extension ChangeAssemblyTests {
    var todosOfLists: MySQLForeignKey {
        MySQLForeignKey(
            name: "fk",
            child: SourceTableName(schema: "app", name: "todos"),
            columns: ["list_id"],
            parent: SourceTableName(schema: "app", name: "lists"),
            parentColumns: ["id"],
            followsDeletes: true,
            followsUpdates: true
        )
    }

    @Test(arguments: [(nil, true), ("other", true), ("a", false)] as [(String?, Bool)], [0, 0x10] as [UInt16])
    func childrenAreCopiedWhenTheRowThatTheyReferToChanges(
        _ change: (id: String?, cascades: Bool),
        _ flags: UInt16
    ) throws {
        let todos = FollowedTable.made(.made("todos"))
        for tables in [[todos], [todos, .made(.made("lists"))]] {
            var assembly = assembly(tables, cascades: [todosOfLists], ancestors: [.made("lists")])
            try add(
                log { log in
                    log.group {
                        $0.row(
                            "lists",
                            before: ["a", "x", nil],
                            after: change.id.map { [$0, "y", nil] },
                            flags: flags
                        )
                    }
                },
                to: &assembly
            )
            #expect(assembly.tablesToCopy == (change.cascades && flags == 0 ? [0: .cascade] : [:]))
        }
    }

    /// Tables whose rows are found by a foreign key.
    private func found(
        _ name: String,
        by columns: [String],
        copied: LogPosition? = nil,
        key: MySQLTable.Key = .primary
    ) -> FollowedTable {
        var table = MySQLTable.made(name, columns: ["id"] + columns, key: key)
        table.references = [columns]
        return .made(table, copied: copied)
    }

    private func key(
        of child: String,
        _ columns: [String],
        to parent: String,
        _ parentColumns: [String] = ["id"]
    ) -> MySQLForeignKey {
        MySQLForeignKey(
            name: "fk_\(child)",
            child: SourceTableName(schema: "app", name: child),
            columns: columns,
            parent: SourceTableName(schema: "app", name: parent),
            parentColumns: parentColumns,
            followsDeletes: true,
            followsUpdates: true
        )
    }

    @Test func childrenAreLookedForByWhatTheyReferTo() throws {
        var assembly = assembly(
            [found("todos", by: ["list_id"]), found("notes", by: ["todo_id"])],
            cascades: [key(of: "todos", ["list_id"], to: "areas"), key(of: "notes", ["todo_id"], to: "todos")],
            ancestors: [.made("areas")]
        )
        let log = log { log in
            log.group {
                $0.row("areas", before: ["a", "x", nil])
                $0.row("areas", before: ["b", "x", nil], after: ["c", "x", nil])
                $0.row("areas", before: ["d", "x", nil], after: ["d", "y", nil])
            }
        }
        try add(log, to: &assembly)
        #expect(assembly.tablesToCopy.isEmpty)
        // The boundary before is behind what was delivered: a checkpoint can be made there.
        #expect(
            texts(assembly.take()) == [
                "begin 1001", #"find app.todos by ["list_id"] ["a"]; app.notes by ["todo_id"] of app.todos"#,
                #"find app.todos by ["list_id"] ["b"]; app.notes by ["todo_id"] of app.todos"#, "commit 1900",
            ]
        )
    }

    /// A value whose equals are not known, a key that is itself part of the identity of the child, one that leads on from other columns
    /// than an identity, and a table on the way that is not followed.
    @Test func childrenThatCannotBeFoundAreCopied() throws {
        let todos = found("todos", by: ["list_id"])
        let ancestors = [MySQLTable.made("lists")]
        func copied(
            _ tables: [FollowedTable],
            _ cascades: [MySQLForeignKey],
            _ body: (inout MadeLog) -> Void
        ) throws -> Int {
            var assembly = assembly(tables, cascades: cascades, ancestors: ancestors)
            try add(log { log in log.group(body) }, to: &assembly)
            return assembly.tablesToCopy.count
        }
        #expect(try copied([todos], [todosOfLists]) { $0.row("lists", before: ["ä", "x", nil]) } == 1)
        var part = MySQLTable.made("todos", columns: ["list_id", "n"])
        part.references = [["list_id"]]
        #expect(
            try copied([.made(part)], [todosOfLists]) {
                $0.row("lists", before: ["a", "x", nil], after: ["b", "x", nil])
            } == 1
        )
        #expect(try copied([.made(part)], [todosOfLists]) { $0.row("lists", before: ["a", "x", nil]) } == 0)
        let notes = found("notes", by: ["list_id"])
        let byOther = key(of: "notes", ["list_id"], to: "todos", ["list_id"])
        #expect(
            try copied([todos, notes], [todosOfLists, byOther]) { $0.row("lists", before: ["a", "x", nil]) } == 2
        )
        #expect(
            try copied([notes], [todosOfLists, key(of: "notes", ["list_id"], to: "todos")]) {
                $0.row("lists", before: ["a", "x", nil])
            } == 1
        )
    }

    /// Rows of a table that was copied since are right, and rows that refer to those that are gone are not found by them.
    @Test func whatWasCopiedSinceIsNotLookedFor() throws {
        let cascades = [key(of: "todos", ["list_id"], to: "areas"), key(of: "notes", ["todo_id"], to: "todos")]
        let later = MadeLog.position(9000)
        let log = log { log in log.group { $0.row("areas", before: ["a", "x", nil]) } }
        var both = assembly(
            [found("todos", by: ["list_id"], copied: later), found("notes", by: ["todo_id"], copied: later)],
            cascades: cascades,
            ancestors: [.made("areas")]
        )
        try add(log, to: &both)
        #expect(both.tablesToCopy.isEmpty && both.take().isEmpty)
        var first = assembly(
            [found("todos", by: ["list_id"], copied: later), found("notes", by: ["todo_id"])],
            cascades: cascades,
            ancestors: [.made("areas")]
        )
        try add(log, to: &first)
        #expect(first.tablesToCopy == [1: .cascade])
        var second = assembly(
            [found("todos", by: ["list_id"]), found("notes", by: ["todo_id"], copied: later)],
            cascades: cascades,
            ancestors: [.made("areas")]
        )
        #expect(try assembled(log, second) == ["begin 1001", #"find app.todos by ["list_id"] ["a"]"#, "commit 1500"])
        second = assembly([], cascades: cascades, ancestors: [.made("areas")])
        #expect(try assembled(log, second).isEmpty)
    }

    @Test func childrenOnTheWayAreCopiedToo() throws {
        var second = todosOfLists
        second.child = SourceTableName(schema: "app", name: "notes")
        second.parent = todosOfLists.child
        var assembly = assembly([.made(.made("notes"))], cascades: [todosOfLists, second], ancestors: [])
        try add(log { log in log.group { $0.row("lists", before: ["a", "x", nil]) } }, to: &assembly)
        #expect(assembly.tablesToCopy == [0: .cascade])
    }
}
