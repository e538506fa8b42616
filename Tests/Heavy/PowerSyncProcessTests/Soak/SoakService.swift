import Foundation
import GRDB
import IntegrationTestSupport
import PostgresTestSupport
import PowerSyncService
import TestSupport

/// A process of `powersync serve` whose source has as many rows after each round as before it.
final class SoakService {
    enum Databases: CaseIterable {
        /// The embedded source, and storage in a file.
        case sqlite
        /// Both in one PostgreSQL server.
        case postgresql
    }

    /// What the service needs.
    struct Footprint: CustomStringConvertible {
        /// Resident memory, in bytes.
        var memory = 0
        /// Storage and source without their logs, in bytes.
        var stored = 0
        /// The logs of SQLite, or what the server of the source keeps of its log for the service, in bytes.
        var logged = 0
        /// Open files and connections.
        var files = 0

        var description: String {
            "\(memory >> 20) MiB of memory, \(stored >> 10) KiB stored, \(logged >> 10) KiB logged, \(files) files"
        }
    }

    /// How many rounds a row of `todos` lives.
    private static let lifetime = 10

    let port = FreePort.take()
    private let service: TodoService
    private let config: String
    private let source: TestDatabase?
    private let storage: TestDatabase?
    private let command: RunningCommand

    /// Starts it, with a list for each user.
    init(_ databases: Databases, users: Int) async throws {
        service = try TodoService()
        (source, storage) = databases == .postgresql ? (try TestDatabase(), try TestDatabase()) : (nil, nil)
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        func connection(_ database: TestDatabase) -> String {
            #"{type: postgresql, uri: "\#(database.uri)", sslmode: disable}"#
        }
        config = service.folder.appending(path: "powersync.yaml").path
        try """
        replication: {connections: [\(source.map(connection) ?? "{type: embedded, path: source.db, tables: [\(tables)]}")]}
        storage: \(storage.map(connection) ?? "{type: sqlite, path: buckets.db}")
        sync_config: {path: sync.yaml}
        api: {parameters: {max_concurrent_connections: 15000}}
        host: 127.0.0.1
        port: \(port)
        client_auth: \(TodoService.clientAuth)
        system: {logging: {level: warning, format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
        try source?.run(TodoService.statements.joined(separator: ";"))
        command = try RunningCommand(["serve", "--config", config])
        let lists = (0..<users).map { "('list-\($0)', '\(SoakClients.name($0))', 'round 0')" }.joined(separator: ", ")
        try await command.wait(for: ServiceNode.isReady)
        try await write(["INSERT INTO lists VALUES \(lists)"])
    }

    /// Makes a token of a user.
    func makeToken() -> @Sendable (_ user: String) throws -> String {
        { [configuration = service.configuration] in try configuration.makeDevelopmentToken(userID: $0) }
    }

    /// Changes the name of every list, inserts a todo into each, and deletes as many.
    func play(_ round: Int) async throws {
        try await write([
            "UPDATE lists SET name = 'round \(round)'",
            "DELETE FROM todos WHERE done <= \(round - Self.lifetime)",
            """
            INSERT INTO todos SELECT id || '-\(round)', id, 'Something to do that takes a line to describe', \(round)
            FROM lists
            """,
        ])
    }

    private func write(_ statements: [String]) async throws {
        if let source {
            try source.run(statements.joined(separator: ";"))
        } else {
            try await service.writeToSource { db in
                for statement in statements { try db.execute(sql: statement) }
            }
        }
    }

    /// Begins to compact, in a process of its own.
    func compact() throws -> RunningCommand { try RunningCommand(["compact", "--config", config]) }

    /// What the service needs now.
    func footprint() throws -> Footprint {
        let process = command.processIdentifier
        var footprint = Footprint(memory: try ProcessMemory(of: process).now)
        footprint.files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        if let source, let storage {
            try measure(source, storage, &footprint)
        } else {
            try measureFiles(&footprint)
        }
        return footprint
    }

    private func measureFiles(_ footprint: inout Footprint) throws {
        let manager = FileManager.default
        for path in try manager.subpathsOfDirectory(atPath: service.folder.path) {
            let attributes = try manager.attributesOfItem(atPath: service.folder.appending(path: path).path)
            let size = (attributes[.size] as? Int) ?? 0
            if path.hasSuffix("-wal") { footprint.logged += size } else { footprint.stored += size }
        }
    }

    private func measure(_ source: TestDatabase, _ storage: TestDatabase, _ footprint: inout Footprint) throws {
        for database in [source, storage] {
            // Autovacuum comes when it likes.
            try database.connect().run("VACUUM")
            footprint.stored += try number("SELECT pg_database_size('\(database.name)')", in: database)
        }
        footprint.logged = try number(
            """
            SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 0)::bigint
            FROM pg_replication_slots WHERE database = '\(source.name)'
            """,
            in: source
        )
    }

    private func number(_ sql: String, in database: TestDatabase) throws -> Int {
        try database.run(sql).first?.first?.flatMap { Int($0) } ?? 0
    }

    /// Tells the service to end.
    ///
    /// - Returns: Its status, and what it said.
    func end() async -> (status: Int32, said: [String]) {
        command.signal(SIGTERM)
        return (await command.waitForExit(), command.said)
    }
}
