import Foundation
import GRDB
import Hummingbird
import Logging
import PowerSync
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncService
import Testing

/// What the page "Syncing any SQLite file" promises, over a file that a server has had before.
@Suite(.timeLimit(.minutes(2))) struct EmbeddedServiceTests {
    @Test func clientsGetWhatAnyProgramWrites() async throws {
        try await NotesServer.whileRunning { server in
            let client = server.client("phone", of: "anna")
            try await client.connect()
            try await client.wait(for: ["old"])
            try await server.database.write { db in
                try db.execute(
                    sql: "INSERT INTO notes (id, owner_id, text) VALUES ('2', 'anna', 'pool'), ('3', 'bert', 'his')"
                )
            }
            try await client.wait(for: ["old", "pool"])
            let foreign = try DatabaseQueue(path: server.path)
            try await foreign.write { db in
                try db.execute(
                    sql: "UPDATE notes SET text = 'foreign' WHERE id = '2'; DELETE FROM notes WHERE id = '1'"
                )
            }
            try await client.wait(for: ["foreign"])
            try await client.close()
        }
    }

    @Test func whatOneClientUploadsReachesTheOther() async throws {
        try await NotesServer.whileRunning { server in
            let (phone, tablet) = (server.client("phone", of: "anna"), server.client("tablet", of: "anna"))
            for client in [phone, tablet] {
                try await client.connect()
                try await client.wait(for: ["old"])
            }
            try await phone.database.execute(sql: "INSERT INTO notes (id, text) VALUES ('2', 'new')", parameters: [])
            try await tablet.wait(for: ["new", "old"])
            try await tablet.database.execute(sql: "DELETE FROM notes WHERE id = '1'", parameters: [])
            try await phone.wait(for: ["new"])
            #expect(try await server.owners() == ["anna"])
            for client in [phone, tablet] { try await client.close() }
        }
    }

    @Test func aNewColumnReachesClients() async throws {
        try await NotesServer.whileRunning { server in
            let client = server.client("phone", of: "anna", columns: [.text("text"), .text("color")])
            try await client.connect()
            try await client.wait(for: ["old"])
            try await server.database.write { db in
                try db.execute(sql: "ALTER TABLE notes ADD COLUMN color TEXT; UPDATE notes SET color = 'red'")
            }
            try await client.wait(for: ["red"], in: "color")
            try await client.close()
        }
    }

    @Test func aRestoredFileIsWhatClientsGet() async throws {
        let folder = try NotesServer.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let backup = folder.appending(path: "backup.db").path(percentEncoded: false)
        let client = try await NotesServer.whileRunning(in: folder) { server in
            let client = server.client("phone", of: "anna")
            try await client.connect()
            try await client.wait(for: ["old"])
            try await server.database.writeWithoutTransaction { db in try db.execute(sql: "VACUUM INTO '\(backup)'") }
            try await server.database.write { db in
                try db.execute(
                    sql: "UPDATE notes SET text = 'lost'; INSERT INTO notes VALUES ('2', 'anna', 'lost, too')"
                )
            }
            try await client.wait(for: ["lost", "lost, too"])
            return client
        }
        try await client.database.disconnect()
        let path = folder.appending(path: "app.db").path(percentEncoded: false)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try FileManager.default.copyItem(atPath: backup, toPath: path)
        try await NotesServer.whileRunning(in: folder) { server in
            let again = NotesClient(client.database, server, user: "anna")
            try await again.connect()
            try await again.wait(for: ["old"])
            try await again.close()
        }
    }

    @Test func theFileCanBeUsedWithoutTheService() async throws {
        let folder = try NotesServer.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await NotesServer.whileRunning(in: folder) { _ in }
        let database = try DatabaseQueue(path: folder.appending(path: "app.db").path(percentEncoded: false))
        let names = try await database.write { db in
            try removeSyncService(db)
            try db.execute(sql: "INSERT INTO notes VALUES ('2', 'anna', 'new')")
            return try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE name LIKE '%\\_ps\\_%' ESCAPE '\\'"
            )
        }
        #expect(names.isEmpty)
        try database.close()
        // It can be added again.
        try await NotesServer.whileRunning(in: folder) { server in
            let client = server.client("phone", of: "anna")
            try await client.connect()
            try await client.wait(for: ["new", "old"])
            try await client.close()
        }
    }
}
