import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Replication streams (docs/service.md "Replication streams").
extension PostgresBucketStorage: BucketStorage {
    package func activeStream() async throws -> ActiveSyncStream? {
        // What another process has published this one may not have noticed yet, and a client may come from there.
        if let newest = try await newestCheckpoint() { feed.publish(newest) }
        guard let checkpoint = feed.current else { return nil }
        let stream = checkpoint.streamID
        if let config = configs.known(of: stream) { return ActiveSyncStream(plan: config.plan, checkpoint: checkpoint) }
        let config = try await read("reading the served stream") { [configs] db in
            try configs.config(of: stream) { try .find($0, db) }
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
        let slotName = settings.slotPrefix + makeID()
        let (record, stored) = try await changeStreams("deploying a sync config") { [configs] db in
            let same = try StreamRecord.all(in: [.processing, .active], db).last { record in
                // What was stored under a plan that this service cannot read has no meaning for another one.
                guard mode == .ifChanged else { return false }
                let config = try configs.readableConfig(of: record.id) { try .find($0, db) }
                return config?.content.utf8.elementsEqual(content.utf8) == true
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
        let (streams, ids) = try await read("reading the streams") { [configs] db in
            let records = try StreamRecord.all(in: StreamRecord.statesWithData, db)
            let streams: [ReplicationStream] = try records.compactMap { record in
                // Those that cannot be read are replaced when their text is deployed again.
                try configs.readableConfig(of: record.id) { try .find($0, db) }.map { ReplicationStream(record, $0) }
                    ?? ReplicationStream(deleting: record)
            }
            return (streams, Set(records.map(\.id)))
        }
        forgetStreams(except: ids)
        return streams
    }

    /// Forgets what is kept in memory of streams that are gone, whichever process has deleted them.
    ///
    /// - Parameter ids: Those that have data.
    func forgetStreams(except ids: Set<ReplicationStreamID>) {
        configs.forget(except: ids)
        names.withLockedValue { names in names = names.filter { ids.contains($0.key) } }
        let unused = waiting.withLockedValue { waiting in
            let unused = waiting.filter { !ids.contains($0.key) }
            for stream in unused.keys { waiting[stream] = nil }
            return unused.values
        }
        for connection in unused { connection.close() }
    }

    package func progress(of stream: ReplicationStreamID) async throws -> StreamProgress {
        try await read("reading the progress of a stream") { db in
            let record = try StreamRecord.find(stream, db)
            let time = try db.first(
                "SELECT extract(epoch FROM last_checkpoint_at)::text FROM \(db.schema).replication_streams WHERE id = $1",
                [.integer(stream.rawValue)]
            ) { $0.optionalText(0).flatMap { Double($0) } }
            return StreamProgress(
                checkpoint: record.checkpoint,
                checkpointedAt: time.flatMap(\.self).map { Date(timeIntervalSince1970: $0) },
                resumePosition: record.resumePosition(in: try SourceHistory.find(record.historyID, db)),
                tables: try SourceTable.all(of: stream, db)
            )
        }
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let slotName = settings.slotPrefix + makeID()
        let (record, stored) = try await changeStreams("starting a stream again") { db in
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
        do {
            try await changeStreams("deleting a stream") { db in
                let record = try StreamRecord.find(stream, locked: true, db)
                guard record.state == .stop else { return }
                try PostgresStorageSchema.dropPartitions(of: stream, db)
                try db.run("DELETE FROM \(db.schema).source_tables WHERE stream = $1", [.integer(stream.rawValue)])
                // Those of the streams before: somebody may just be looking at this one.
                try db.run(
                    "DELETE FROM \(db.schema).writers AS w USING \(db.schema).replication_streams AS s WHERE s.id = w.stream AND s.state = 'TERMINATED'"
                )
                try StreamRecord.setState(.terminated, of: stream, db)
            }
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.lockNotAvailable {
            throw BucketStorageError(
                .inUse,
                """
                The tables of replication stream \(stream) are being read, such as by pg_dump; they are deleted later.
                """,
                underlyingError: error
            )
        }
        configs.forget(stream)
        names.withLockedValue { _ = $0.removeValue(forKey: stream) }
        waiting.withLockedValue { $0.removeValue(forKey: stream) }?.close()
    }

    /// Changes which streams there are, one process after the other, and tells all of them.
    private func changeStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStatements) throws -> Value
    ) async throws -> Value {
        try await write(activity) { [schema] db in
            try schema.lockStreams(db)
            let value = try body(db)
            try schema.notify(db)
            return value
        }
    }
}

/// The `source_tables` of a stream.
extension SourceTable {
    /// The tables of a stream, in no particular order.
    static func all(of stream: ReplicationStreamID, _ db: PostgresStatements) throws -> [SourceTable] {
        try db.rows(
            """
            SELECT id, relation_id, schema_name, table_name, identity_columns, snapshot_done, snapshot_last_key
            FROM \(db.schema).source_tables WHERE stream = $1
            """,
            [.integer(stream.rawValue)]
        ) { row in
            let name = try SourceTableName(schema: row.text(2), name: row.text(3))
            let identity: [SourceTableDescriptor.IdentityColumn]
            do {
                identity = try JSONDecoder().decode(
                    [SourceTableDescriptor.IdentityColumn].self,
                    from: Data(try row.bytes(4))
                )
            } catch {
                throw BucketStorageError(
                    .corrupted,
                    "The identity columns of \(name) in the bucket storage cannot be read.",
                    underlyingError: error
                )
            }
            return SourceTable(
                id: try row.text(0),
                descriptor: SourceTableDescriptor(name: name, relationID: try row.text(1), identity: identity),
                isSnapshotDone: try row.boolean(5),
                lastSnapshotKey: row.optionalBytes(6).map { SnapshotKey(rawValue: $0) }
            )
        }
    }

    /// Stores a new record.
    func insert(of stream: ReplicationStreamID, _ db: PostgresStatements) throws {
        let identity = String(decoding: try JSONEncoder().encode(descriptor.identity), as: UTF8.self)
        try db.run(
            """
            INSERT INTO \(db.schema).source_tables (id, stream, relation_id, schema_name, table_name, identity_columns)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                .text(id), .integer(stream.rawValue), .text(descriptor.relationID), .text(descriptor.name.schema),
                .text(descriptor.name.name), .text(identity),
            ]
        )
    }
}
