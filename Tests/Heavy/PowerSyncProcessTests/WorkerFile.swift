import Foundation
import GRDB
import LocalDatabaseWorker
import PowerSync
import Testing

/// What must hold for a database file after whatever happened to the processes that wrote it.
struct WorkerFile {
    let path: String
    /// The schema that it is opened with.
    var schema = WorkerSchema.first

    /// A row of `items`.
    private struct Item: Equatable {
        var title: String?
        var batch: Int?
        var worker: String?
    }

    private struct Entry {
        let transaction: Int
        let operation: String
        let type: String
        let id: String
        let item: Item

        /// The worker, from an id like `name-12-0`.
        var worker: String { String(id.split(separator: "-").first ?? "") }
    }

    /// Opens the file, checks it, and closes it.
    func check(_ body: (any PowerSyncDatabaseProtocol) async throws -> Void = { _ in }) async throws {
        let database = PowerSyncDatabase(
            schema: schema,
            dbFilename: path,
            logger: DefaultLogger(writers: [])
        )
        try await checkIntegrity(database)
        try await body(database)
        try await database.close()
    }

    private func checkIntegrity(_ database: any PowerSyncDatabaseProtocol) async throws {
        let problems = try await database.getAll("PRAGMA integrity_check") { try $0.getString(index: 0) }
        #expect(problems == ["ok"])
        let versions = try await database.getAll("SELECT id FROM ps_migration ORDER BY id") { try $0.getInt(index: 0) }
        #expect(versions == Array(1...14))
    }

    /// Checks that each worker's transactions are there, whole, up to the last that it has acknowledged.
    ///
    /// The queue of uploads, applied to nothing, must give the rows of the view exactly.
    ///
    /// `acknowledged` has the number of each worker's last transaction that is known to be committed. One more may be: the
    /// worker may have been killed before it could say so.
    func checkWrites(_ database: any PowerSyncDatabaseProtocol, acknowledged: [String: Int]) async throws {
        let entries = try await self.entries(database)
        var items: [String: Item] = [:]
        for entry in entries {
            switch entry.operation {
            case "PUT": items[entry.id] = entry.item
            case "PATCH": items[entry.id]?.title = entry.item.title
            default: items[entry.id] = nil
            }
        }
        #expect(try await self.items(database) == items)
        #expect(entries.allSatisfy { $0.type == "items" })

        var numbers: [String: [Int]] = [:]
        for (transaction, entries) in Dictionary(grouping: entries, by: \.transaction) {
            let worker = try #require(entries.first?.worker)
            let number = try #require(entries.compactMap(\.item.batch).first)
            #expect(entries.allSatisfy { $0.worker == worker }, "transaction \(transaction) has two workers")
            #expect(entries.count == WorkerTransaction(number, worker: worker).entryCount)
            numbers[worker, default: []].append(number)
        }
        for (worker, last) in acknowledged {
            let found = numbers.removeValue(forKey: worker) ?? []
            #expect(found.sorted() == Array(1..<(found.count + 1)))
            #expect([last, last + 1].contains(found.count), "\(worker) has said \(last)")
        }
        #expect(numbers.isEmpty)
    }

    private func entries(_ database: any PowerSyncDatabaseProtocol) async throws -> [Entry] {
        let sql = """
            SELECT tx_id, data ->> 'op' AS op, data ->> 'type' AS type, data ->> 'id' AS id,
                data ->> '$.data.title' AS title, data ->> '$.data.batch' AS batch, data ->> '$.data.worker' AS worker
            FROM ps_crud ORDER BY id
            """
        return try await database.getAll(sql) { cursor in
            Entry(
                transaction: try cursor.getInt(name: "tx_id"),
                operation: try cursor.getString(name: "op"),
                type: try cursor.getString(name: "type"),
                id: try cursor.getString(name: "id"),
                item: try WorkerFile.item(cursor)
            )
        }
    }

    private func items(_ database: any PowerSyncDatabaseProtocol) async throws -> [String: Item] {
        let rows = try await database.getAll("SELECT id, title, batch, worker FROM items") { cursor in
            (try cursor.getString(name: "id"), try WorkerFile.item(cursor))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    private static func item(_ cursor: any SqlCursor) throws -> Item {
        Item(
            title: try cursor.getStringOptional(name: "title"),
            batch: try cursor.getIntOptional(name: "batch"),
            worker: try cursor.getStringOptional(name: "worker")
        )
    }

    /// Everything that SQLite knows of the schema, read without opening the file with ours.
    func objects() throws -> Set<String> {
        let file = try DatabaseQueue(path: path)
        defer { try? file.close() }
        return try file.read { db in
            Set(try String.fetchAll(db, sql: "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_master"))
        }
    }
}
