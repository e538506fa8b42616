import PowerSyncMySQLConnection
package import PowerSyncServiceCore

/// Up to where tables show what is in the log: a commit is in the log before others see it.
extension MySQLLog {
    /// How long transactions are waited for that are in the log and not yet shown.
    private static let visibilityLimit = Duration.seconds(60)

    /// Begins a transaction that shows one state.
    static let beginSnapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"

    /// A position before which everything in the log is visible to each transaction that begins now.
    ///
    /// - Throws: ``ReplicationSourceError`` with code `unavailable` when a transaction has been committing for a minute;
    ///   ``MySQLConnectionError``; `CancellationError`.
    package func visibleHead() async throws -> SourcePosition {
        try await pool.withConnection { connection in
            guard connection.isMariaDB else { return try await visibleHeadOfMySQL(connection) }
            try await connection.execute(Self.beginSnapshot)
            let position = try await snapshotPosition(connection)
            try await connection.execute("ROLLBACK")
            return position
        }
    }

    /// Waits until everything that is in the log now is visible to each transaction that begins afterwards.
    ///
    /// - Throws: As ``visibleHead()``.
    package func waitUntilShown() async throws {
        let head = try await head()
        let waiting = Stopwatch(clock)
        var pause = Duration.milliseconds(5)
        var asked: LSN?
        while true {
            let visible = try await visibleHead()
            guard visible.history == head.history, visible.lsn < head.lsn else { return }
            // A snapshot of MariaDB is where the last commit ended, and the log goes on without one, too: with where the engines begin
            // after a crash, some time after a file was begun.
            if visible.lsn != asked, let start = LogPosition(visible.lsn), let end = LogPosition(head.lsn) {
                asked = visible.lsn
                guard try await hasGroup(from: start, to: end) else { return }
            }
            guard waiting.elapsed < Self.visibilityLimit else {
                throw ReplicationSourceError(
                    .unavailable,
                    "A transaction that is in the log is not visible after \(Self.visibilityLimit): does a replica not confirm it?"
                )
            }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    /// Of a MariaDB server, the position up to which a transaction shows everything, and after which nothing.
    ///
    /// - Parameter connection: One with a transaction of ``beginSnapshot``.
    /// - Returns: The position.
    /// - Throws: As ``visibleHead()``.
    func snapshotPosition(_ connection: MySQLConnection) async throws -> SourcePosition {
        let rows = try await connection.query("SHOW STATUS LIKE 'binlog_snapshot_%'").rows
        func value(_ name: String) -> String? {
            rows.first { $0.string("Variable_name")?.lowercased() == name }?.string("Value")
        }
        guard let file = value("binlog_snapshot_file").flatMap({ LogFileName($0) }),
            let offset = value("binlog_snapshot_position").flatMap({ UInt64($0) })
        else {
            throw ReplicationSourceError(
                .unavailable,
                "The server does not say which position of its log a snapshot has: Binlog_snapshot_file is empty."
            )
        }
        // A snapshot that is kept is behind the end.
        return named(try await place(file, offset, connection, after: nil))
    }

    /// A thread owns the GTID of its transaction from before the transaction is in the log until tables show it.
    func visibleHeadOfMySQL(_ connection: MySQLConnection) async throws -> SourcePosition {
        let end = try await end(connection)
        var committing = try await Self.ownedGTIDs(connection)
        let waiting = Stopwatch(clock)
        var pause = Duration.milliseconds(5)
        while !committing.isEmpty {
            guard waiting.elapsed < Self.visibilityLimit else {
                throw ReplicationSourceError(
                    .unavailable,
                    """
                    A transaction has been committing for a minute (\(committing.sorted().joined(separator: ", "))): a replica does not \
                    confirm it, or a session has set GTID_NEXT. End it.
                    """
                )
            }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
            committing.formIntersection(try await Self.ownedGTIDs(connection))
        }
        return named(end)
    }

    private static func ownedGTIDs(_ connection: MySQLConnection) async throws -> Set<String> {
        ownedGTIDs(in: try await connection.query("SELECT @@GLOBAL.gtid_owned").firstString ?? "")
    }

    /// The GTIDs of a text such as `uuid:7#11:8#12,uuid:tag:9#13`, each as `uuid:7` or `uuid:tag:9`; the threads are left out.
    static func ownedGTIDs(in text: String) -> Set<String> {
        var owned: Set<String> = []
        for set in text.split(separator: ",") {
            let parts = set.split(separator: ":").map { $0.filter { !$0.isWhitespace } }
            guard let source = parts.first else { continue }
            var tag = ""
            for part in parts.dropFirst() {
                let number = part.prefix { $0 != "#" }
                if number.allSatisfy(\.isNumber) { owned.insert("\(source)\(tag):\(number)") } else { tag = ":\(part)" }
            }
        }
        return owned
    }
}
