import Foundation
import GRDB
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// Processes that end in the middle of a change of direct tables.
@Suite(.timeLimit(.minutes(2))) struct AlterationKillTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ name: String, isChanged: Bool) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: Schema(tables: WorkerSchema.alterable(isChanged: isChanged)),
            dbFilename: folder.path(name),
            logger: DefaultLogger(writers: [])
        )
    }

    /// A file with rows and a queue, closed.
    private func makeFile(_ name: String) async throws {
        let database = open(name, isChanged: false)
        try await database.writeTransaction { transaction in
            for statement in [
                "INSERT INTO changed (id, a, b, c, dropped) VALUES ('1', 'one', 1, 10, 'x'), ('2', 'two', 2, 20, NULL)",
                "UPDATE changed SET a = 'uno' WHERE id = '1'",
                "INSERT INTO becomes_direct (id, a, b) VALUES ('1', 'd', 3)",
                "INSERT INTO becomes_view (id, a, b) VALUES ('1', 'v', 4)",
                "INSERT INTO becomes_synced (id, a, b) VALUES ('1', 's', 5)",
            ] {
                try transaction.execute(sql: statement, parameters: [])
            }
        }
        try await database.close()
    }

    /// What the file has, for the app, the upload queue and a search, with one schema or the other.
    private func content(_ name: String, isChanged: Bool) async throws -> [String] {
        let database = open(name, isChanged: isChanged)
        var content: [String] = []
        for table in WorkerSchema.alterable(isChanged: isChanged) {
            let rows = try await database.getAll(
                "SELECT * FROM \(table.name) ORDER BY id",
                as: [String: JsonValue].self,
                format: RowFormat(of: table)
            )
            for row in rows {
                let values: [String] = row.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                content.append("\(table.name) \(values.joined(separator: " "))")
            }
        }
        let texts = [
            "SELECT data FROM ps_crud ORDER BY id", "SELECT id FROM changed_fts WHERE changed_fts MATCH 'uno'",
            "PRAGMA integrity_check",
        ]
        for sql in texts { content += try await database.getAll(sql) { try $0.getString(index: 0) } }
        try await database.close()
        return content
    }

    /// Everything that SQLite knows of the schema, read without opening the file with ours.
    private func objects(_ name: String) throws -> Set<String> {
        let file = try DatabaseQueue(path: folder.path(name))
        defer { try? file.close() }
        return try file.read { db in
            Set(try String.fetchAll(db, sql: "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema"))
        }
    }

    private func worker(_ name: String, death: Int?) throws -> WorkerProcess {
        var task = WorkerTask(.alterTables, path: folder.path(name))
        task.alteration = WorkerAlteration(death: death)
        return try WorkerProcess(argument: try task.argument())
    }

    @Test func beforeEachStatementTheFileIsAsItWas() async throws {
        try await makeFile("whole.db")
        let (before, objectsBefore) = (try await content("whole.db", isChanged: false), try objects("whole.db"))
        #expect(before.filter { $0.hasPrefix("changed ") }.count == 2)
        #expect(before.suffix(2) == ["1", "ok"])
        try FileManager.default.copyItem(atPath: folder.path("whole.db"), toPath: folder.path("template.db"))
        let worker = try worker("whole.db", death: nil)
        let count = try #require(await worker.remainingLines().last.flatMap(Int.init))
        #expect(count > 20)
        let (after, objectsAfter) = (try await content("whole.db", isChanged: true), try objects("whole.db"))
        #expect(objectsAfter != objectsBefore)
        let renamed = #"b=int(1) c=string("10") id=string("1") title=string("uno")"#
        #expect(after.contains { $0.hasPrefix("changed added=") && $0.hasSuffix(renamed) }, "\(after)")
        #expect(after.suffix(2) == ["1", "ok"])
        // The rows of a table that is local-only are kept for when it is that again, and nothing is uploaded because of the change.
        #expect(after.filter { !$0.hasPrefix("{") }.count == before.filter { !$0.hasPrefix("{") }.count - 1)
        #expect(after.filter { $0.hasPrefix("{") } == before.filter { $0.hasPrefix("{") })

        for death in [1, count - 1, count] + (2..<count - 1).one(in: max(count / 4, 1)) {
            let name = "\(death).db"
            try FileManager.default.copyItem(atPath: folder.path("template.db"), toPath: folder.path(name))
            let worker = try self.worker(name, death: death)
            #expect(await worker.waitForExit() == SIGKILL, "statement \(death)")
            #expect(try objects(name) == objectsBefore, "statement \(death)")
            #expect(try await content(name, isChanged: false) == before, "statement \(death)")
            #expect(try await content(name, isChanged: true) == after, "statement \(death)")
            #expect(try objects(name) == objectsAfter, "statement \(death)")
        }
    }
}
