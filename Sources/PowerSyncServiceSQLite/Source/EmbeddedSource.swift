package import Foundation
package import GRDB
package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// A source database in one SQLite file, for development and tests (docs/service.md "The embedded source").
///
/// The file belongs to the application: any SQLite program may write to it, in any transaction. Triggers capture what
/// changes; see `ChangeCapture`. Writes through ``apply(_:)`` are noticed at once, those of other programs within
/// ``pollInterval``.
package final class EmbeddedSource: FileBacked {
    /// How often the file is checked for commits of other programs.
    package static let pollInterval = Duration.milliseconds(150)

    /// Connections to the file.
    package let pool: DatabasePool
    /// The file and those beside it.
    let files: DatabaseFiles
    /// Reads `PRAGMA data_version`, which counts commits of *other* connections.
    private let poll: DatabaseQueue
    /// Advanced after every commit of this process.
    package let signal = ChangeSignal()
    /// What is captured; replaced when the schema of the file changes.
    private let captureState: NIOLockedValueBox<ChangeCapture.State>
    /// What is stored in `_ps_streams`, by stream.
    let acknowledged = NIOLockedValueBox<[String: Acknowledgement]>([:])
    /// The newest position that was read, while the file is the one that it was read from.
    let known = NIOLockedValueBox<KnownPosition?>(nil)
    /// Tells the time, in seconds since 1970.
    let now: @Sendable () -> Int64
    /// Warnings that have been given.
    let warnings = NIOLockedValueBox<Set<String>>([])
    let clock: any Clock<Duration>
    let logger: Logger

    /// Opens the file, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - path: The file. Its folder must exist.
    ///   - schema: Statements that create the application's tables; those that exist are left alone.
    ///   - clock: Measures ``pollInterval``.
    ///   - now: Tells the time, to forget streams that are not replicated for days.
    ///   - logger: For warnings about tables that cannot be replicated.
    /// - Throws: ``ReplicationSourceError`` that names the file, or the statement or table that is wrong.
    package init(
        path: String,
        schema: [String] = [],
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        logger: Logger
    ) throws {
        self.clock = clock
        self.now = { Int64(now().timeIntervalSince1970) }
        self.logger = logger
        let schema = try EmbeddedSchema(statements: schema)
        try Self.checkLeftovers(of: path)
        PrivateFiles.createFile(at: path)
        do {
            let pool = try DatabasePool(path: path, configuration: Self.configuration)
            let state = try pool.write { db in
                try schema.apply(db)
                try ChangeCapture.install(db)
                return try ChangeCapture.synchronise(db)
            }
            self.pool = pool
            files = try DatabaseFiles(of: pool)
            captureState = NIOLockedValueBox(state)
            var pollConfiguration = Self.configuration
            pollConfiguration.readonly = true
            poll = try DatabaseQueue(path: path, configuration: pollConfiguration)
        } catch let error as DatabaseError {
            throw ReplicationSourceError(
                .configuration,
                "The embedded source at \(path) cannot be opened: \(error.message ?? "unknown error")."
            )
        }
    }

    package func close() throws {
        try poll.close()
        // A copy of the file, without the ones beside it, should have everything.
        _ = try? pool.writeWithoutTransaction { db in try db.checkpoint(.passive) }  // blocks: at the end
        try pool.close()
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "powersync.source"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // Rows of the source exist nowhere else: a confirmed write must survive a power failure.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA recursive_triggers = ON")
        }
        return configuration
    }

    // MARK: Files

    /// Checks what a killed process has left.
    private static func checkLeftovers(of path: String) throws(ReplicationSourceError) {
        func check(_ look: () throws(FileProblem) -> Void, _ remedy: String) throws(ReplicationSourceError) {
            do throws(FileProblem) {
                try look()
            } catch {
                let problem = "The embedded source \(error.path) \(error.problem). \(remedy)"
                throw ReplicationSourceError(.configuration, problem)
            }
        }
        let log = LeftoverLog(beside: path)
        try check(
            { () throws(FileProblem) in try log.checkThatItIsRead() },
            "Put the file back; or delete both, and begin with an empty one."
        )
        try check(
            { () throws(FileProblem) in try log.checkThatItBelongsToTheDatabase() },
            "Put the former database back; or delete \(path)-wal and \(path)-shm, and begin with the rows of this one alone."
        )
    }

    package func checkFiles() throws(FileProblem) { try files.check() }

    // MARK: Capture

    /// What is captured, as of the last look at the schema.
    var capture: ChangeCapture.State { captureState.withLockedValue { $0 } }

    /// Looks at the schema of the file again.
    ///
    /// - Returns: What is captured now.
    @discardableResult
    func synchroniseCapture() async throws -> ChangeCapture.State {
        let known = capture
        let isCurrent = try await pool.uncancelledRead { db in
            try ChangeCapture.schemaVersion(db) == known.schemaVersion
        }
        if isCurrent { return known }
        let state = try await pool.uncancelledWrite { db in try ChangeCapture.synchronise(db) }
        captureState.withLockedValue { $0 = state }
        return state
    }

    // MARK: News

    /// A number that changes when anything has been committed to the file by another connection than the polling one.
    func dataVersion() async throws -> Int64 {
        try await poll.uncancelledRead { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") ?? 0 }
    }

    /// Waits until something may have been committed.
    ///
    /// - Parameters:
    ///   - version: The version of ``signal`` before the caller looked at the file.
    ///   - seen: The result of ``dataVersion()`` before the caller looked at the file.
    ///   - polls: How often to look before giving up.
    /// - Returns: `false` when nothing has happened.
    /// - Throws: `CancellationError`, or an error of the database.
    func waitForCommit(after version: UInt64, dataVersion seen: Int64, polls: Int) async throws -> Bool {
        try await firstOf { [signal] in
            try await signal.wait(after: version)
            return true
        } or: { [self] in
            for _ in 0..<polls {
                try await clock.sleep(for: Self.pollInterval)
                if try await dataVersion() != seen { return true }
            }
            return false
        }
    }
}
