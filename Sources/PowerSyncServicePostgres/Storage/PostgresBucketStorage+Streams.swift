import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Replication streams (docs/service.md "Replication streams").
extension PostgresBucketStorage: StreamTableStorage {
    package func activeStream() async throws -> ActiveReplicationStream? {
        // What another process has published this one may not have noticed yet, and a client may come from there.
        if let newest = try await newestCheckpoint() { feed.publish(newest) }
        guard let checkpoint = feed.current else { return nil }
        return try await served(at: checkpoint)
    }

    package func streams() async throws -> [ReplicationStream] {
        let streams = try await readStreams("reading the streams") { [configs] in try $0.streams(configs) }
        forgetStreams(except: Set(streams.map(\.id)))
        return streams
    }

    package func makeSourceHandle() -> String { settings.handlePrefix + makeID() }

    package func readStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (PostgresStreamTables) throws -> Value
    ) async throws -> Value {
        try await read(activity) { [schema] db in try body(PostgresStreamTables(db, in: schema)) }
    }

    /// Changes which streams there are, one process after the other, and tells all of them.
    package func changeStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (inout PostgresStreamTables) throws -> Value
    ) async throws -> Value {
        try await write(activity) { [schema] db in
            try schema.lockStreams(db)
            var streams = PostgresStreamTables(db, in: schema, locks: true)
            let value = try body(&streams)
            try schema.notify(db)
            return value
        }
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

    package func deleteData(of stream: ReplicationStreamID) async throws {
        do {
            try await changeStreams("deleting a stream") { try $0.deleteData(of: stream) }
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
}
