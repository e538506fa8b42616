import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Replication streams (docs/service.md "Replication streams").
extension SQLiteBucketStorage {
    package func activeStream() async throws -> ActiveSyncStream? {
        guard let checkpoint = feed.current else { return nil }
        let config = try await read { [configs] db in
            try configs.config(of: checkpoint.streamID) { try .find($0, db) }
        }
        return ActiveSyncStream(plan: config.plan, checkpoint: checkpoint)
    }

    package func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) async throws -> ReplicationStream {
        let encodedPlan = try plan.encodedJSON()
        let slotName = slotPrefix + makeID()
        let (record, stored) = try await writeBriefly { [configs] db in
            let same = try StreamRecord.all(in: [.processing, .active], db).last { record in
                // What was stored under a plan that this service cannot read has no meaning for another one.
                let config = try configs.readableConfig(of: record.id) { try .find($0, db) }
                return mode == .ifChanged && config?.content.utf8.elementsEqual(content.utf8) == true
            }
            _ = try StreamSuccession.change(db) { $0.deploy(keeping: same?.id) }
            let stored = StreamConfig.Stored(content: content, encodedPlan: encodedPlan)
            let record =
                try same?.relabelled(versionLabel, db)
                ?? StreamRecord.insert(stored, versionLabel: versionLabel, slotName: slotName, db)
            // Not kept yet: the transaction may be rolled back, and the number be given out again.
            return (record, try .find(record.id, db) as StreamConfig.Stored)
        }
        return ReplicationStream(record, try configs.config(of: record.id) { _ in stored })
    }

    package func streams() async throws -> [ReplicationStream] {
        try await read { [configs] db in
            try StreamRecord.all(in: [.processing, .active, .errored, .stop], db).compactMap { record in
                // Those that cannot be read are replaced when their text is deployed again.
                try configs.readableConfig(of: record.id) { try .find($0, db) }.map { ReplicationStream(record, $0) }
                    ?? ReplicationStream(deleting: record)
            }
        }
    }

    package func progress(of stream: ReplicationStreamID) async throws -> StreamProgress {
        try await read { db in
            let record = try StreamRecord.find(stream, db)
            let history = try SourceHistory.find(record.historyID, db)
            let time = try String.fetchOne(
                db,
                sql: "SELECT last_checkpoint_ts FROM sync_rules WHERE id = ?",
                arguments: [stream.rawValue]
            )
            return StreamProgress(
                checkpoint: record.checkpoint,
                checkpointedAt: time.flatMap { try? Date($0, strategy: .iso8601) },
                resumePosition: record.resumePosition(in: history),
                tables: try SourceTable.all(of: stream, db)
            )
        }
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let slotName = slotPrefix + makeID()
        let (record, stored) = try await writeBriefly { db in
            let record =
                switch try StreamSuccession.change(db, { $0.restart(stream) }) {
                case .new:
                    try StreamRecord.insert(
                        try .find(stream, db),
                        versionLabel: try StreamRecord.find(stream, db).versionLabel,
                        slotName: slotName,
                        db
                    )
                case .stream(let successor): try StreamRecord.find(successor, db)
                case .none: throw BucketStorageError.replaced(stream)
                }
            return (record, try .find(record.id, db) as StreamConfig.Stored)
        }
        return ReplicationStream(record, try configs.config(of: record.id) { _ in stored })
    }

    package func deleteData(of stream: ReplicationStreamID) async throws {
        let record = try await read { db in try StreamRecord.find(stream, db) }
        guard record.state == .stop else { return }
        for step in StreamDeletion.steps { try await delete(step, of: stream) }
        try await writeBriefly { db in try StreamRecord.setState(.terminated, of: stream, db) }
        configs.forget(stream)
    }

    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        guard leases.withLockedValue({ $0.insert(stream).inserted }) else {
            throw BucketStorageError(.inUse, "Replication stream \(stream) is written already.")
        }
        defer { leases.withLockedValue { _ = $0.remove(stream) } }
        var writer: any BucketStorageWriter = try await writer(of: stream)
        return try await body(&writer)
    }

    /// A writer for a stream; the caller has the lease.
    func writer(of stream: ReplicationStreamID) async throws -> SQLiteBucketWriter {
        let (record, config, history, reached, tables) = try await read { [configs] db in
            let record = try StreamRecord.find(stream, db)
            guard record.state.isReplicated else { throw BucketStorageError.replaced(stream) }
            let reached = try String.fetchOne(
                db,
                sql: "SELECT max(lsn) FROM write_checkpoints WHERE history_id = ?",
                arguments: [record.historyID]
            )
            let history = try SourceHistory.find(record.historyID, db)
            let config = try configs.config(of: stream) { try .find($0, db) }
            return (record, config, history, reached.map { LSN($0) }, try SourceTable.all(of: stream, db))
        }
        return SQLiteBucketWriter(
            storage: self,
            streamID: stream,
            plan: config.plan,
            hashKey: record.hashKey,
            resumePosition: record.resumePosition(in: history),
            reachedLSN: record.notReached(reached),
            storedLSN: record.noCheckpointBefore,
            tables: tables
        )
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
