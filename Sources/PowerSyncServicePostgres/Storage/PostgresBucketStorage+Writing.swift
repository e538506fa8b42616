import NIOConcurrencyHelpers
package import PowerSyncServiceCore

/// Writers of streams.
extension PostgresBucketStorage {
    package func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        let lease = try await inSession { try await takeLease(of: stream) }
        do {
            let body = Handover(value: body)
            let result = try await inSession { try await holding(lease, stream, body) }
            await lease.release()
            return result.value
        } catch {
            await lease.release()
            throw error
        }
    }

    /// Takes the lease of a stream, and keeps the connection for the next attempt when another process has it.
    package func takeLease(of stream: ReplicationStreamID) async throws -> WriterLease {
        let kept = waiting.withLockedValue { $0.removeValue(forKey: stream) }
        if let kept {
            do {
                return try await takeLease(of: stream, on: kept)
            } catch let error as PostgresError where error.code == .connection || error.code == .closed {
                // It was ended while it was idle.
            }
        }
        let connection = try await PostgresConnection.open(settings.connection, settings: schema.sessionSettings)
        do {
            // The lock is to be that of a session.
            try await connection.proveSession(
                opening: { try await .open(settings.connection, settings: schema.sessionSettings) },
                "taking the lease of a stream"
            )
        } catch {
            connection.close()
            throw error
        }
        return try await takeLease(of: stream, on: connection)
    }

    private func takeLease(
        of stream: ReplicationStreamID,
        on connection: PostgresConnection
    ) async throws -> WriterLease {
        do {
            return try await WriterLease.take(stream, schema, on: connection)
        } catch let error as BucketStorageError where error.code == .inUse && connection.isUsable {
            waiting.withLockedValue { $0.updateValue(connection, forKey: stream) }?.close()
            throw error
        } catch {
            connection.close()
            throw error
        }
    }

    /// Runs `body` as long as the lease is there.
    private func holding<Result>(
        _ lease: WriterLease,
        _ stream: ReplicationStreamID,
        _ body: Handover<(inout any BucketStorageWriter) async throws -> Result>
    ) async throws -> Handover<Result> {
        try await firstOf {
            var writer: any BucketStorageWriter = try await self.writer(of: stream, lease)
            return Handover(value: try await body.value(&writer))
        } or: {
            try await lease.hold(self.clock) { try await self.checkOthers(than: $0) }
        }
    }

    /// A writer for a stream that has the lease.
    package func writer(
        of stream: ReplicationStreamID,
        _ lease: WriterLease
    ) async throws -> any BucketStorageWriter {
        let beginning = try await lease.statements("opening a writer") { [configs, schema] db in
            try PostgresStreamTables(db, in: schema).beginning(of: stream, configs)
        }
        return BucketWriter(PostgresWriterSession(storage: self, lease: lease), beginning, makeID: makeID)
    }
}

/// What one task gives to another one, and does not touch again.
private struct Handover<Value>: @unchecked Sendable {
    // @unchecked: the task that makes it waits for the task that gets it.
    let value: Value
}
