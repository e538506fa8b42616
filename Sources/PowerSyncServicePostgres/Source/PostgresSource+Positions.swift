import Foundation
import Logging
import NIOConcurrencyHelpers
package import PowerSyncServiceCore

/// Where the source is.
extension PostgresSource {
    package func head(having known: SourcePosition?) async throws -> SourcePosition {
        try await pool.withConnection { connection in
            let head = try await position(connection, knowing: known?.history)
            guard let known, learn(from: known, at: head) else { return head }
            return try await position(connection, knowing: known.history)
        }
    }

    /// Learns from a stored position whether the log has gone back.
    ///
    /// - Returns: Whether the history has, or may have, another name than `head` says.
    private func learn(from known: SourcePosition, at head: SourcePosition) -> Bool {
        let end = SourcePosition(known.lsn.unmarked, of: known.history)
        let isInLog = end.lsn <= head.lsn.unmarked
        return rewinds.withLockedValue { $0.learn(from: end, in: head.history, isInLog: isInLog) }
    }

    package func database() async throws -> DatabaseID? {
        try await pool.withConnection { connection in
            let rows = try await connection.query(DatabaseID.query, activity: "reading where the source is")
            return rows.first?.first?.map { DatabaseID(rawValue: $0) }
        }
    }

    /// The position up to which something is in the log, also if it is not flushed or visible yet.
    ///
    /// The history of a stored position tells what the log was called before a fail-over.
    func position(
        _ connection: PostgresConnection,
        knowing known: SourceHistory? = nil
    ) async throws -> SourcePosition {
        let rows = try await connection.query(
            """
            SELECT pg_current_wal_insert_lsn(), c.system_identifier,
                left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), d.oid
            FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
            """,
            activity: "reading the position of the log"
        )
        guard let row = rows.first, row.count == 4, let position = row[0].flatMap({ WALPosition($0) }),
            let system = row[1], let timeline = row[2].flatMap({ UInt32($0, radix: 16) }), let database = row[3]
        else { throw PostgresCatalogError(query: "position", row: 0, column: "position") }
        let log = LogNames.Log(system: system[...], timeline: timeline, database: database[...])
        let history = "\(try await name(of: log, knowing: known))\(rewinds.withLockedValue(\.suffix))"
        return SourcePosition(position.lsn, of: SourceHistory(rawValue: history))
    }

    /// What a log is called: as the one that it goes on with, when the server is a standby that was promoted.
    private func name(of log: LogNames.Log, knowing known: SourceHistory?) async throws -> String {
        while let predecessor = logNames.withLockedValue({ $0.predecessor(of: log, known: known) }) {
            let timelines = try await timelines(of: log)
            let goesOn = logNames.withLockedValue { $0.learn(log, after: predecessor, through: timelines) }
            if goesOn {
                logger.notice(
                    "After a fail-over, another server goes on with the log: if it has all that was read, nothing is copied again"
                )
            }
        }
        return logNames.withLockedValue { $0.see(log, knowing: known) }
    }

    /// The timelines that the log of the server has come through; none if the server does not know.
    private func timelines(of log: LogNames.Log) async throws -> Set<UInt32> {
        let connection = try await openReplication()
        defer { connection.close() }
        do {
            // The name of the file, and what is in it.
            let rows = try await connection.execute(
                "TIMELINE_HISTORY \(log.timeline)",
                activity: "reading the timelines of the log"
            )
            return rows.first?.last.flatMap { $0.map(LogNames.timelines) } ?? []
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedFile {
            return []
        }
    }

    /// What distinguishes the markers of services from other messages in the log.
    static let markerPrefix = "powersync"

    package func emitMarker() async throws {
        try await pool.withConnection { try await emitMarker("ping", $0) }
    }

    private func emitMarker(_ content: String, _ connection: PostgresConnection) async throws {
        // In a transaction, which is flushed at once, and comes in the stream after everything before.
        _ = try await connection.query(
            "SELECT pg_logical_emit_message(true, '\(Self.markerPrefix)', $1)",
            [content],
            activity: "writing a marker"
        )
    }

    package func markedHead() async throws -> SourcePosition {
        let mark = UInt64.random(in: .min ... .max)
        return try await pool.withConnection { connection in
            try await emitMarker(MarkedPosition.digits(mark), connection)
            // After the commit of the marker.
            var head = try await position(connection)
            if let position = WALPosition(head.lsn) { head.lsn = MarkedPosition(position, mark: mark).lsn }
            return head
        }
    }

    // MARK: Acknowledging

    /// Bytes of the log after which an acknowledgement is worth waiting for the disk.
    static let acknowledgedBytes: UInt64 = 16 << 20
    /// Seconds after which a position is acknowledged in any case, whichever way the wall clock has gone.
    static let acknowledgementInterval = 10.0

    package func wantsAcknowledgement(of lsn: LSN, by slotName: String) -> Bool {
        guard let position = WALPosition(lsn) else { return false }
        let now = now()
        return slots.withLockedValue { slots in
            guard let slot = slots[slotName], let last = slot.acknowledged, let at = slot.acknowledgedAt else {
                return true
            }
            guard position > last else { return false }
            return position.rawValue - last.rawValue >= Self.acknowledgedBytes
                || abs(now.timeIntervalSince(at)) >= Self.acknowledgementInterval
        }
    }

    package func wantsLastAcknowledgement(of lsn: LSN, by slotName: String) -> Bool {
        guard let position = WALPosition(lsn) else { return false }
        return slots.withLockedValue { $0[slotName]?.acknowledged.map { position > $0 } ?? true }
    }

    package func acknowledge(_ position: DurablePosition, of slotName: String) async throws {
        guard let acknowledged = WALPosition(position.position.lsn) else { return }
        let now = now()
        let stream = slots.withLockedValue { slots in
            slots[slotName, default: SlotState()].acknowledged = acknowledged
            slots[slotName]?.acknowledgedAt = now
            return slots[slotName]?.stream
        }
        // Without a stream, the next one says it.
        stream?.acknowledge(acknowledged)
    }
}
