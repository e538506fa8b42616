import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// The life of a virtual table and of its context.
@Suite struct VirtualTableTests {
    /// What the table of a connection works with.
    private final class Context {
        private(set) var events: [String] = []

        func note(_ event: String) {
            events.append(event)
        }
    }

    private static let module = VirtualTable.Module { module in
        module.xConnect = { connection, context, _, _, table, _ in
            VirtualTable.connect(connection, declaring: "CREATE TABLE notes(a)", context: context, table)
        }
        module.xDisconnect = { table in
            guard let table else { return SQLITE_OK }
            let context: Unmanaged<Context> = VirtualTable.context(of: table)
            context.takeUnretainedValue().note("disconnect")
            return VirtualTable.disconnect(table)
        }
        module.xUpdate = { table, _, arguments, _ in
            guard let table else { return SQLITE_INTERNAL }
            let context: Unmanaged<Context> = VirtualTable.context(of: table)
            let value = sqlite3_value_text(arguments?[2]).map { String(cString: $0) } ?? ""
            guard value == "refused" else {
                context.takeUnretainedValue().note(value)
                return SQLITE_OK
            }
            VirtualTable.setMessage("not this one", of: table)
            VirtualTable.setMessage("“refused” is refused", of: table)
            return SQLITE_CONSTRAINT
        }
    }

    @Test func aTableKeepsItsContextUntilTheConnectionCloses() throws {
        let connection = try PlainConnection()
        weak var released: Context?
        do {
            let context = Context()
            released = context
            #expect(Self.module.register("notes", on: connection.handle, context: context) == SQLITE_OK)
        }
        try connection.run("INSERT INTO notes VALUES ('x')")
        let kept = try #require(released)
        #expect(kept.events == ["x"])
        #expect(connection.close() == SQLITE_OK)
        #expect(kept.events == ["x", "disconnect"])
        withExtendedLifetime(kept) {}
    }

    @Test func theContextGoesWithTheConnection() throws {
        let connection = try PlainConnection()
        weak var context: Context?
        do {
            let strong = Context()
            context = strong
            #expect(Self.module.register("notes", on: connection.handle, context: strong) == SQLITE_OK)
        }
        try connection.run("INSERT INTO notes VALUES ('x')")
        #expect(context != nil)
        #expect(connection.close() == SQLITE_OK)
        #expect(context == nil)
    }

    @Test func messagesOfATableReachTheStatement() throws {
        let connection = try PlainConnection()
        #expect(Self.module.register("notes", on: connection.handle, context: Context()) == SQLITE_OK)
        for _ in 0..<2 {
            let error = try #require(throws: DatabaseError.self) {
                try connection.run("INSERT INTO notes VALUES ('refused')")
            }
            #expect(error.resultCode == .SQLITE_CONSTRAINT)
            #expect(error.message == "“refused” is refused")
        }
    }

    @Test func aTableCannotBeRead() throws {
        let connection = try PlainConnection()
        #expect(Self.module.register("notes", on: connection.handle, context: Context()) == SQLITE_OK)
        let error = try #require(throws: DatabaseError.self) { try connection.run("SELECT * FROM notes") }
        #expect(error.resultCode == .SQLITE_MISUSE)
    }
}
