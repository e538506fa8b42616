import Foundation
import GRDB
import PowerSync
import PowerSyncGRDB

#if canImport(Glibc)
import Glibc
#endif

/// How a worker changes direct tables.
package struct WorkerAlteration: Codable, Sendable {
    /// The schema that the file has.
    static var before: Schema { Schema(tables: WorkerSchema.alterable(isChanged: false)) }
    /// The schema that it gets.
    static var after: Schema { Schema(tables: WorkerSchema.alterable(isChanged: true)) }

    /// Before which statement of the change the worker kills itself, from 1; `nil` for none.
    package var death: Int?

    /// Creates a change.
    package init(death: Int? = nil) {
        self.death = death
    }

    /// Changes the schema, and prints how many statements that took.
    func run(_ path: String, _ say: @escaping @Sendable (String) -> Void) async throws {
        let statements = Statements(death: death)
        var configuration = Configuration()
        try configuration.configurePowerSync(schema: Self.before)
        configuration.prepareDatabase { db in
            guard !db.configuration.readonly else { return }
            db.trace { [unowned db] _ in if db.isInsideTransaction { statements.count() } }
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        let logger = DefaultLogger(writers: [])
        let database = openPowerSyncWithGRDB(pool: pool, schema: Self.before, identifier: path, logger: logger)
        try await database.waitForReady()
        statements.begin()
        try await database.updateSchema(schema: Self.after)
        say("\(statements.end())")
        try await database.close()
    }

    /// The statements of transactions since a moment.
    ///
    /// `@unchecked`: the lock guards what changes.
    private final class Statements: @unchecked Sendable {
        private let lock = NSLock()
        private let death: Int?
        private var number: Int?

        init(death: Int?) {
            self.death = death
        }

        func begin() { lock.withLock { number = 0 } }
        func end() -> Int { lock.withLock { number ?? 0 } }

        /// A statement is about to run.
        func count() {
            let isLast = lock.withLock {
                guard let number else { return false }
                self.number = number + 1
                return number + 1 == death
            }
            guard isLast else { return }
            kill(getpid(), SIGKILL)
            // The signal may come to another thread first.
            while true { pause() }
        }
    }
}
