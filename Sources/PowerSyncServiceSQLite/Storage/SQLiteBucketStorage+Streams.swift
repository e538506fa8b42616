package import PowerSyncServiceCore
import GRDB
import PowerSyncProtocol
package import PowerSyncRules
import Synchronization

/// Replication streams (docs/service.md "Replication streams").
extension SQLiteBucketStorage {
    package func activeStream() async throws -> ActiveSyncStream? {
        guard let checkpoint = feed.current else { return nil }
        let record = try await pool.read { db in try StreamRecord.find(checkpoint.streamID, db) }
        return ActiveSyncStream(id: record.id, plan: try plan(of: record))
    }

    package func deploy(_ content: String, plan: SyncPlan) async throws -> ReplicationStream {
        let encodedPlan = try plan.encodedJSON()
        let slotName = "powersync_\(makeID())"
        let record = try await pool.write { db in
            let replicated = try StreamRecord.all(in: [.processing, .active], db)
            // What was stored under a plan that this service cannot read has no meaning for another one.
            if let newest = replicated.last, newest.content.utf8.elementsEqual(content.utf8),
                (try? self.plan(of: newest)) != nil
            {
                return newest
            }
            for record in replicated where record.state == .processing {
                try StreamRecord.setState(.stop, of: record.id, db)
            }
            return try StreamRecord.insert(content: content, plan: encodedPlan, slotName: slotName, db)
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

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let slotName = "powersync_\(makeID())"
        let record = try await pool.write { db in
            let lost = try StreamRecord.find(stream, db)
            try StreamRecord.setState(lost.state == .active ? .errored : .stop, of: stream, db)
            return try StreamRecord.insert(content: lost.content, plan: lost.plan, slotName: slotName, db)
        }
        return try self.stream(of: record)
    }

    package func deleteData(of stream: ReplicationStreamID) async throws {
        let state = try await pool.read { db in try StreamRecord.find(stream, db).state }
        guard state == .stop else { return }
        for statement in Self.deletions {
            while try await pool.write({ db in
                try db.execute(sql: statement, arguments: [stream.rawValue, Self.deletionBatch])
                return db.changesCount
            }) > 0 {}
        }
        try await pool.write { db in try StreamRecord.setState(.terminated, of: stream, db) }
        forget(stream)
        history.withLock { $0.forget(stream) }
    }

    package func writer(for stream: ReplicationStream) async throws -> any BucketStorageWriter {
        let (record, tables) = try await pool.read { db in
            (try StreamRecord.find(stream.id, db), try SourceTable.all(of: stream.id, db))
        }
        return SQLiteBucketWriter(
            storage: self,
            streamID: stream.id,
            plan: try plan(of: record),
            resumeLSN: record.lastCheckpointLSN ?? record.snapshotLSN,
            tables: tables
        )
    }

    private func stream(of record: StreamRecord) throws -> ReplicationStream {
        ReplicationStream(record, plan: try plan(of: record))
    }

    /// Rows deleted in one transaction, so that the writer is never blocked for long.
    private static let deletionBatch = 5000

    private static let deletions = [
        """
        DELETE FROM bucket_data WHERE (group_id, bucket_name, op_id) IN (
            SELECT group_id, bucket_name, op_id FROM bucket_data WHERE group_id = ? LIMIT ?)
        """,
        """
        DELETE FROM bucket_parameters WHERE (group_id, lookup, source_table, source_key, id) IN (
            SELECT group_id, lookup, source_table, source_key, id FROM bucket_parameters WHERE group_id = ? LIMIT ?)
        """,
        """
        DELETE FROM current_data WHERE (group_id, source_table, source_key) IN (
            SELECT group_id, source_table, source_key FROM current_data WHERE group_id = ? LIMIT ?)
        """,
        """
        DELETE FROM source_tables WHERE id IN (SELECT id FROM source_tables WHERE group_id = ? LIMIT ?)
        """,
    ]
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
