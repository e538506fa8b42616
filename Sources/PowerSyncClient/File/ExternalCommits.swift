import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite

/// Notices that another process, or any other SQLite connection, has committed to the file of a database.
///
/// In WAL mode every commit is written to the write-ahead log first. A write to that file is only a hint: it may be our
/// own, a checkpoint, or the first part of a transaction. Whether another connection has committed is what SQLite tells:
/// `PRAGMA data_version` changes on a connection when *another* connection has committed. All commits of a database are
/// made by its writer, so the writer is asked, when its queue comes to it.
///
/// Instances in this process share the writer; only pools of an app are other connections. Each commit is announced once, however
/// many hints there are.
///
/// Where an app's pool writes as well, ``PoolCommits`` tells whether it was the pool.
///
/// A commit becomes visible after it was written, and with `synchronous = FULL` the disk is waited for in between. So
/// after the last write the version is looked at a few more times:
///
/// ```
///  write ──20 ms──► look ──100 ms──► look ──500 ms──► look ──2.5 s──► look
///    ▲                      another write begins anew ─┘
/// ```
///
/// Where the system has no watch left to give, which the log tells, the version is looked at every second.
final class ExternalCommits: Sendable {
    /// How long after a write the version is looked at, and the least time between two looks.
    static let delay = Duration.milliseconds(20)
    /// The delays between the looks that follow.
    static let lateDelays: [Duration] = [.milliseconds(100), .milliseconds(500), .milliseconds(2500)]

    /// The time between two looks while nothing tells of writes.
    static let blindDelay = Duration.seconds(1)

    private let log: FileWatch?
    /// Whether nothing tells of the first write.
    private let beginsBlind: Bool
    private let pool: PoolCommits?
    private let changes: ChangeTracker
    private let logger: any LoggerProtocol
    private let clock: any Clock<Duration>
    /// The answer of the writer to the last look.
    private let version = NIOLockedValueBox<Int64?>(nil)
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)
    /// Fires when the log was written to.
    private let writes: CoalescingTrigger<Void>

    /// Begins to collect hints; `nil` for a database in memory.
    ///
    /// - Parameters:
    ///   - location: Where the database is.
    ///   - pool: The connections of the app that write as well.
    ///   - changes: Receives the announcements.
    ///   - logger: Receives messages.
    ///   - clock: Measures the delays.
    ///   - watch: Makes the watch of a file; `nil` when the system has none left.
    init?(
        location: DatabaseLocation,
        pool: PoolCommits? = nil,
        changes: ChangeTracker,
        logger: any LoggerProtocol,
        clock: any Clock<Duration>,
        watch: (_ path: String, _ onWrite: @escaping @Sendable () -> Void) -> FileWatch? = {
            FileWatch(path: $0, onWrite: $1)
        }
    ) {
        guard case .file(let path) = location else { return nil }
        let writes = CoalescingTrigger<Void>()
        let log = watch(path + "-wal") { writes.fire() }
        self.log = log
        self.writes = writes
        self.pool = pool
        self.changes = changes
        self.logger = logger
        self.clock = clock
        beginsBlind = log?.arm() != true
    }

    /// Takes the present state for known.
    ///
    /// Call it on the writer, before the first read of what must be kept up to date.
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
        task.withLockedValue { $0 }?.cancel()
    }

    /// Waits for the end after ``cancel()``.
    ///
    /// The connections are not used any more then.
    func waitForEnd() async {
        await task.withLockedValue { $0 }?.value
    }

    private func run(_ writer: any DatabaseWriter) async {
        var (isBlind, hasToldBlindness) = (beginsBlind, false)
        // The delays of the looks that are due, one after the other.
        var delays: ArraySlice<Duration> = []
        while !Task.isCancelled {
            if isBlind, !hasToldBlindness {
                hasToldBlindness = true
                logger.warning(
                    "The system has no watch left to tell of what other processes write: looking every second.",
                    tag: LogTag.database
                )
            }
            if await isWritten(within: delays.first ?? (isBlind ? Self.blindDelay : nil)) {
                // A watch that has told is silent until it is armed by a look, so this cannot go on for ever.
                delays = [Self.delay] + Self.lateDelays[...]
                continue
            }
            guard !Task.isCancelled else { return }
            _ = delays.popFirst()
            // First, so that what is committed after the look causes another one.
            isBlind = log?.arm() != true
            await look(writer)
            // The pool may still name the tables of a commit that was seen by the last look.
            if delays.isEmpty, pool?.awaitsNames == true { delays = Self.lateDelays[...] }
        }
    }

    /// Waits for a write, or for a delay to pass; `nil` waits for a write only.
    ///
    /// - Returns: Whether the log was written to.
    private func isWritten(within delay: Duration?) async -> Bool {
        guard let delay else { return (try? await writes.wait()) != nil }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { (try? await self.writes.wait()) != nil }
            group.addTask {
                try? await self.clock.sleep(for: delay)
                return false
            }
            var isWritten = await group.next() ?? false
            group.cancelAll()
            // A write that comes with the end of the delay is not lost.
            for await result in group where result { isWritten = true }
            return isWritten
        }
    }

    private func look(_ writer: any DatabaseWriter) async {
        do {
            let hasCommit = try await writer.uncancelledWriteWithoutTransaction { try self.hasNews($0) }
            let hasNews = await pool?.hasNews(writer, hasCommit: hasCommit) ?? hasCommit
            if hasNews { changes.announceAll() }
        } catch is CancellationError {
            // The loop ends with its task.
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
