import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncRules
package import PowerSyncServiceCore

/// Replication streams (docs/service.md "Replication streams").
extension SQLiteBucketStorage {
    package func activeStream() async throws -> ActiveSyncStream? {
        guard let checkpoint = feed.current else { return nil }
        let record = try await pool.read { db in try StreamRecord.find(checkpoint.streamID, db) }
        return ActiveSyncStream(id: record.id, plan: try plan(of: record))
    }

    package func deploy(_ content: String, plan: SyncPlan, mode: DeploymentMode) async throws -> ReplicationStream {
        let encodedPlan = try plan.encodedJSON()
        let slotName = slotPrefix + makeID()
        let record = try await pool.write { db in
            let replicated = try StreamRecord.all(in: [.processing, .active], db)
            let same = replicated.last { record in
                // What was stored under a plan that this service cannot read has no meaning for another one.
                mode == .ifChanged && record.content.utf8.elementsEqual(content.utf8)
                    && (try? self.plan(of: record)) != nil
            }
            for record in replicated where record.state == .processing && record.id != same?.id {
                try StreamRecord.setState(.stop, of: record.id, db)
            }
            return try same ?? StreamRecord.insert(content: content, plan: encodedPlan, slotName: slotName, db)
        }
        return try stream(of: record)
    }

    package func streams() async throws -> [ReplicationStream] {
        let records = try await pool.read { db in
            try StreamRecord.all(in: [.processing, .active, .errored, .stop], db)
        }
        return records.compactMap { record in
            if let stream = try? stream(of: record) { return stream }
            // The others are replaced when their text is deployed again; this one is only to be deleted.
            return record.state == .stop ? ReplicationStream(record, plan: .empty) : nil
        }
    }

    package func progress(of stream: ReplicationStreamID) async throws -> StreamProgress {
        try await pool.read { db in
            let record = try StreamRecord.find(stream, db)
            let history = try SourceHistory.find(record.historyID, db)
            let time = try String.fetchOne(
                db,
                sql: "SELECT last_checkpoint_ts FROM sync_rules WHERE id = ?",
                arguments: [stream.rawValue]
            )
            let lsn = record.lastCheckpointLSN ?? record.snapshotLSN
            return StreamProgress(
                checkpoint: record.checkpoint,
                checkpointedAt: time.flatMap { try? Date($0, strategy: .iso8601) },
                resumePosition: history.flatMap { history in lsn.map { SourcePosition($0, of: history) } },
                tables: try SourceTable.all(of: stream, db)
            )
        }
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let slotName = slotPrefix + makeID()
        let record = try await pool.write { db in
            let lost = try StreamRecord.find(stream, db)
            try StreamRecord.setState(lost.state == .active ? .errored : .stop, of: stream, db)
            return try StreamRecord.insert(content: lost.content, plan: lost.plan, slotName: slotName, db)
        }
        return try self.stream(of: record)
    }

    package func deleteData(of stream: ReplicationStreamID) async throws {
        let record = try await pool.read { db in try StreamRecord.find(stream, db) }
        guard record.state == .stop else { return }
        let isLegacy = record.storageVersion == LegacyTables.storageVersion
        for step in isLegacy ? LegacyTables.deletions : StreamDeletion.steps { try await delete(step, of: stream) }
        try await pool.write { db in
            try StreamRecord.setState(.terminated, of: stream, db)
            try LegacyTables.dropIfUnused(db)
        }
        forget(stream)
    }

    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        guard leases.withLockedValue({ $0.insert(stream).inserted }) else {
            throw BucketStorageError(.inUse, "[PSYNC_S1003] Replication stream \(stream) is written already.")
        }
        defer { leases.withLockedValue { _ = $0.remove(stream) } }
        var writer: any BucketStorageWriter = try await writer(of: stream)
        return try await body(&writer)
    }

    /// A writer for a stream; the caller has the lease.
    func writer(of stream: ReplicationStreamID) async throws -> SQLiteBucketWriter {
        let (record, history, reached, tables) = try await pool.read { db in
            let record = try StreamRecord.find(stream, db)
            let reached = try String.fetchOne(
                db,
                sql: "SELECT max(lsn) FROM write_checkpoints WHERE history_id = ?",
                arguments: [record.historyID]
            )
            let history = try SourceHistory.find(record.historyID, db)
            return (record, history, reached.map { LSN($0) }, try SourceTable.all(of: stream, db))
        }
        let lsn = record.lastCheckpointLSN ?? record.snapshotLSN
        return SQLiteBucketWriter(
            storage: self,
            streamID: stream,
            plan: try plan(of: record),
            resumePosition: history.flatMap { history in lsn.map { SourcePosition($0, of: history) } },
            reachedLSN: reached.flatMap { reached in lsn.map { reached > $0 } ?? false ? reached : nil },
            tables: tables
        )
    }

    private func stream(of record: StreamRecord) throws -> ReplicationStream {
        ReplicationStream(record, plan: try plan(of: record))
    }

    /// Deletes the rows of a stream, some at a time, so that the writer is never blocked for long.
    private func delete(_ step: StreamDeletion, of stream: ReplicationStreamID) async throws {
        repeat {
            for statement in step.contents {
                while try await run(statement, of: stream) > 0 { try Task.checkCancellation() }
            }
        } while try await run(step.statement, of: stream) > 0
    }

    private func run(_ statement: String, of stream: ReplicationStreamID) async throws -> Int {
        try await write { db in
            try db.execute(sql: statement, arguments: ["stream": stream.rawValue])
            return db.changesCount
        }
    }
}

extension ReplicationStream {
    fileprivate init(_ record: StreamRecord, plan: SyncPlan) {
        self.init(
            id: record.id,
            state: record.state,
            slotName: record.slotName,
            content: record.content,
            plan: plan,
            isSnapshotDone: record.isSnapshotDone
        )
    }
}
