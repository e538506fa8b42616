package import Foundation
import PowerSync
package import PowerSyncClient

#if canImport(Glibc)
import Glibc
#endif

/// How a worker makes a file the copy of a seed.
package struct WorkerSeeding: Codable, Sendable {
    /// The seed.
    package var seed: String
    /// After which step the worker kills itself; `nil` for none.
    package var death: SeedingStep?
    /// The bytes of the key that the file gets; `nil` for none.
    package var key: Data?

    /// Creates a seeding.
    package init(from seed: String, death: SeedingStep? = nil, key: Data? = nil) {
        self.seed = seed
        self.death = death
        self.key = key
    }

    /// Opens the database.
    func run(_ path: String) async throws {
        var source: (@Sendable () throws -> DatabaseKey)?
        if let key { source = { try DatabaseKey.bytes(key) } }
        let database = SyncedDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("name")])),
            dbFilename: path,
            logger: DefaultLogger(writers: []),
            key: source,
            seedFile: seed,
            seeding: { [death] step in
                guard step == death else { return }
                kill(getpid(), SIGKILL)
                // The signal may come to another thread first.
                while true { pause() }
            },
            environment: .live
        )
        try await database.waitForReady()
        try await database.close()
    }
}
