import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

/// Lets one read of a storage fail.
package final class ReadFault: Sendable {
    /// The reads that can fail.
    package enum Read: String, CustomTestStringConvertible {
        case changes, checksums, parameterRows, bucketData

        package var testDescription: String { rawValue }
    }

    private struct Failure {
        var read: Read
        var error: any Error
    }

    /// Advanced when the read has failed.
    package let signal = ChangeSignal()
    private let failure = NIOLockedValueBox<Failure?>(nil)

    /// Creates one that lets nothing fail yet.
    package init() {}

    /// Whether the read has not failed yet.
    package var isPending: Bool { failure.withLockedValue { $0 != nil } }

    /// Lets the next read of a kind fail.
    package func fail(_ read: Read, with error: any Error) {
        failure.withLockedValue { $0 = Failure(read: read, error: error) }
    }

    /// A storage whose reads can fail.
    package func view(of storage: some BucketStorage) -> any BucketStorage {
        FaultyStorage(storage: storage, fault: self)
    }

    fileprivate func check(_ read: Read) throws {
        let error = failure.withLockedValue { failure -> (any Error)? in
            guard let next = failure, next.read == read else { return nil }
            failure = nil
            return next.error
        }
        guard let error else { return }
        signal.advance()
        throw error
    }
}

private struct FaultyStorage<Storage: BucketStorage>: ForwardingStorage {
    let storage: Storage
    let fault: ReadFault

    func changes(from earlier: StorageCheckpoint, to later: StorageCheckpoint) async throws -> CheckpointChanges {
        try fault.check(.changes)
        return try await storage.changes(from: earlier, to: later)
    }

    func parameterRows(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint,
        limit: Int
    ) async throws -> [ParameterLookup: [ParameterRow]] {
        try fault.check(.parameterRows)
        return try await storage.parameterRows(lookups, at: checkpoint, limit: limit)
    }

    func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) async throws -> [BucketName: BucketChecksum] {
        try fault.check(.checksums)
        return try await storage.checksums(buckets, at: checkpoint)
    }

    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        try fault.check(.bucketData)
        return try await storage.bucketData(positions, at: checkpoint, limits: limits)
    }
}
