import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Replication streams (docs/service.md "Replication streams").
extension SQLiteBucketStorage: StreamTableStorage {
    package func activeStream() async throws -> ActiveReplicationStream? {
        guard let checkpoint = feed.current else { return nil }
        return try await served(at: checkpoint)
    }

    package func streams() async throws -> [ReplicationStream] {
        try await readStreams("reading the streams") { [configs] in try $0.streams(configs) }
    }

    package func makeSourceHandle() -> String { handlePrefix + makeID() }

    package func readStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (SQLiteStreamTables) throws -> Value
    ) async throws -> Value {
        try await read { db in try body(SQLiteStreamTables(db)) }
    }

    package func changeStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (inout SQLiteStreamTables) throws -> Value
    ) async throws -> Value {
        // Configs that clients are served, and that somebody was told of, are not taken back by a power failure.
        try await namingDamage {
            try await pool.uncancelledWriteWithoutTransaction { db in
                try db.transactionOnDisk { db in
                    var streams = SQLiteStreamTables(db)
                    return try body(&streams)
                }
            }
        }
    }

    /// Waits for the end of the task, as there are no other processes.
    package func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
        try await ChangeSignal().wait(after: 0)
    }

    /// None: the file has no log that a source could read.
    package func database() -> DatabaseID? { nil }

    package func deleteData(of stream: ReplicationStreamID) async throws {
        let record = try await readStreams("reading a stream") { try $0.record(of: stream) }
        guard record.state == .stop else { return }
        for step in StreamDeletion.steps { try await delete(step, of: stream) }
        try await changeStreams("deleting a stream") { try $0.setState(.terminated, of: stream) }
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
    package func writer(of stream: ReplicationStreamID) async throws -> any BucketStorageWriter {
        let beginning = try await readStreams("opening a writer") { [configs] in try $0.beginning(of: stream, configs) }
        return BucketWriter(SQLiteWriterSession(storage: self, streamID: stream), beginning, makeID: makeID)
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
