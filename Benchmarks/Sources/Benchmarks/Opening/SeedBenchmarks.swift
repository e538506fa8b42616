import Foundation
import GRDB
import PowerSync
import PowerSyncCore

/// Opening a database that begins with a seed, until the first query can run, and opening the seed itself in its place.
///
/// The floor is `cp`, which makes the same file: the difference is to stay below 2 s for a million rows.
enum SeedBenchmarks {
    private static let schema = Schema(
        Table(name: "lists", columns: [.text("owner"), .integer("number"), .text("title"), .integer("done")]),
        Table(
            name: "todos",
            columns: [.text("owner"), .integer("number"), .text("title"), .integer("done")],
            indexes: [.ascending(name: "by_owner", column: "owner")]
        )
    )

    /// Runs all cases.
    static func run(includesMillion: Bool) async throws {
        for rows in includesMillion ? [100_000, 1_000_000] : [100_000] {
            // The command was given the schema, or makes the index at the opening.
            for (name, known) in [("", TemporaryDatabase.schema), (".new_index", ClientSchema())] {
                try await run("seed.\(rows / 1_000)k_rows\(name)", rows: rows, known)
            }
        }
    }

    private static func run(_ name: String, rows: Int, _ known: ClientSchema) async throws {
        let folder = try TemporaryFolder()
        let seed = folder.folderPath + "/seed.db"
        try make(seed, rows: rows, known)
        var (copied, inPlace, floor) = (Measurement.never, Measurement.never, Measurement.never)
        for number in 0..<3 {
            let path = folder.folderPath + "/\(number).db"
            try floor.improve(prepare: {}) { try copy(seed, to: path) }
            let placed = ContinuousClock.now
            try await open(path)
            inPlace.best = min(inPlace.best, ContinuousClock.now - placed)
            try remove(path)
            let begun = ContinuousClock.now
            try await open(path, seed: seed)
            copied.best = min(copied.best, ContinuousClock.now - begun)
            try remove(path)
        }
        Report.time("\(name).copied", ours: copied, floors: [("cp", floor)])
        Report.time("\(name).in_place", ours: inPlace, floors: [])
    }

    /// Makes what the command would make of a first sync.
    private static func make(_ path: String, rows: Int, _ schema: ClientSchema) throws {
        let database = try TemporaryDatabase(schema: ClientSchema())
        var engine = SyncEngine()
        try ApplyBenchmarks.apply(Workload(rows: rows, buckets: 10).lines(), with: &engine, to: database.pool)
        try database.pool.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                let seed = Seed(salt: "salt", user: "user", service: "https://sync.example.org")
                let count = try seed.make(db, schema: schema)
                precondition(count == rows, "all rows are in the seed")
                return .commit
            }
            try db.execute(sql: "VACUUM INTO ?", arguments: [path])
        }
    }

    private static func open(_ path: String, seed: String? = nil) async throws {
        let logger = DefaultLogger(writers: [])
        let database =
            if let seed {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger, seedFile: URL(filePath: seed))
            } else {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger)
            }
        let title = try await database.get("SELECT title FROM todos LIMIT 1") { try $0.getString(index: 0) }
        precondition(!title.isEmpty, "the file has rows")
        try await database.close()
    }

    private static func copy(_ file: String, to path: String) throws {
        let process = try Process.run(URL(filePath: "/bin/cp"), arguments: [file, path])
        process.waitUntilExit()
    }

    private static func remove(_ path: String) throws {
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }
}
