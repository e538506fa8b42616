import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite

/// Notices that another process, or any other SQLite connection, has committed to the file of a database.
///
/// In WAL mode every commit is written to the write-ahead log first. A write to that file is only a hint: it may be our
/// own, a checkpoint, or the first part of a transaction. Whether somebody else has committed is what SQLite tells:
/// `PRAGMA data_version` changes on a connection when *another* connection has committed. All commits of a database are
/// made by its writer, so the writer is asked, when its queue comes to it.
///
/// Instances in this process share the writer; only pools of an app are other connections. Each commit is announced once, however
/// many hints there are.
///
/// Where an app's pool writes as well, ``PoolCommits`` tells whether it was the pool.
///
/// A commit becomes visible after it was written, and with `synchronous = FULL` the disk is waited for in between. So
/// after the last write the version is looked at a few more times.
///
/// Where the system has no watch left to give, which says so in the log, the version is looked at every second.
final class ExternalCommits: Sendable {
    /// How long after a write the version is looked at, and the least time between two looks.
    static let delay = Duration.milliseconds(20)
    /// The delays between the looks that follow.
    static let lateDelays: [Duration] = [.milliseconds(100), .milliseconds(500), .milliseconds(2500)]

    /// The time between two looks while nothing tells of writes.
    static let blindDelay = Duration.seconds(1)

    private let log: FileWatch?
    private let pool: PoolCommits?
    private let changes: ChangeTracker
    private let logger: any LoggerProtocol
    private let clock: any Clock<Duration>
    /// What the writer said last.
    private let version = NIOLockedValueBox<Int64?>(nil)
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)
    /// Whether nothing tells of writes; one element of the stream after that has become so.
    private let isBlind = NIOLockedValueBox(false)
    private let blindTimes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Begins to collect hints; `nil` for a database in memory.
    ///
    /// - Parameters:
    ///   - location: Where the database is.
    ///   - pool: The connections of the app that write as well.
    ///   - changes: Who is told.
    ///   - logger: Receives messages.
    ///   - clock: Measures the delays.
    ///   - watch: Makes the watch of a file; `nil` when the system has none left.
    init?(
        location: DatabaseLocation,
        pool: PoolCommits? = nil,
        changes: ChangeTracker,
        logger: any LoggerProtocol,
        clock: any Clock<Duration>,
        watch: (String) -> FileWatch? = { FileWatch(path: $0) }
    ) {
        guard case .file(let path) = location else { return nil }
        log = watch(path + "-wal")
        self.pool = pool
        self.changes = changes
        self.logger = logger
        self.clock = clock
        arm()
    }

    private func arm() {
        let wasBlind = isBlind.withLockedValue { isBlind in
            defer { isBlind = !(log?.arm() ?? false) }
            return isBlind
        }
        if !wasBlind, isBlind.withLockedValue({ $0 }) { blindTimes.continuation.yield() }
    }

    /// Takes the present state for known.
    ///
    /// Call it on the writer, before anybody has read anything that must be kept up to date.
    func synchronize(_ db: Database) throws {
        _ = try hasNews(db)
    }

    /// Announces commits from now on.
    func start(_ writer: any DatabaseWriter) {
        task.withLockedValue { task in
            precondition(task == nil, "External commits of one database are looked for twice")
            task = Task { await self.run(writer) }
        }
    }

    /// Ends the announcements.
    func cancel() {
        log?.cancel()
        blindTimes.continuation.finish()
        task.withLockedValue { $0 }?.cancel()
    }

    /// Waits for the end after ``cancel()``.
    ///
    /// The connections are not used any more then.
    func waitForEnd() async {
        await task.withLockedValue { $0 }?.value
    }

    private func run(_ writer: any DatabaseWriter) async {
        let (quietTimes, quietTime) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup { tasks in
            tasks.addTask { await self.lookWhileBlind(writer) }
            tasks.addTask {
                if let log = self.log {
                    for await _ in log.changes {
                        quietTime.yield()
                        await self.look(after: ExternalCommits.delay, writer)
                        // The looks that follow may have come before this one, which another has to follow.
                        if self.pool?.awaitsNames == true { quietTime.yield() }
                    }
                }
                quietTime.finish()
            }
            tasks.addTask {
                // Writes during one round cause another one.
                for await _ in quietTimes {
                    for delay in ExternalCommits.lateDelays {
                        await self.look(after: delay, writer)
                    }
                }
            }
        }
    }

    private func lookWhileBlind(_ writer: any DatabaseWriter) async {
        var isTold = false
        for await _ in blindTimes.stream {
            if !isTold {
                isTold = true
                logger.warning(
                    "The system has no watch left to tell of what other processes write: looking every second.",
                    tag: LogTag.database
                )
            }
            while isBlind.withLockedValue({ $0 }), !Task.isCancelled {
                await look(after: ExternalCommits.blindDelay, writer)
            }
        }
    }

    private func look(after delay: Duration, _ writer: any DatabaseWriter) async {
        do {
            try await clock.sleep(for: delay)
            // First, so that what is committed after the look causes another one.
            arm()
            let hasCommit = try await writer.uncancelledWriteWithoutTransaction { try self.hasNews($0) }
            let hasNews = await pool?.hasNews(writer, hasCommit: hasCommit) ?? hasCommit
            if hasNews { changes.announceAll() }
        } catch is CancellationError {
            // The loop ends with its stream.
        } catch {
            logger.warning("Cannot see whether another process has written: \(error.lineOfText)", tag: LogTag.database)
        }
    }

    /// Whether another connection has committed since the last call.
    private func hasNews(_ db: Database) throws -> Bool {
        // On the writer's queue, so that two looks cannot overtake each other.
        let current = try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
        return version.withLockedValue { version in
            defer { version = current }
            return version != current
        }
    }
}
