package import PowerSyncProtocol

/// Why the bucket storage cannot do what it was asked.
package struct BucketStorageError: CataloguedError, Sendable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case cannotOpen, inUse, unsupportedVersion, corrupted, noActiveStream, unknownStream,
                checkpointInvalidated, leaseLost, otherStorage
        }

        private let value: Value

        /// The file or the database cannot be opened.
        package static let cannotOpen = Code(value: .cannotOpen)
        /// Another process uses the storage, or another writer the stream (`PSYNC_S1003`).
        package static let inUse = Code(value: .inUse)
        /// The storage was written by a newer version of the service or an earlier build, or has to be migrated first
        /// (`PSYNC_S1005`).
        package static let unsupportedVersion = Code(value: .unsupportedVersion)
        /// A stored value cannot be read.
        package static let corrupted = Code(value: .corrupted)
        /// No stream is served yet; clients get `PSYNC_S2302`.
        package static let noActiveStream = Code(value: .noActiveStream)
        /// The stream is not stored here, or has been replaced.
        package static let unknownStream = Code(value: .unknownStream)
        /// Compaction has taken away what a checkpoint consists of; a later one can be read.
        package static let checkpointInvalidated = Code(value: .checkpointInvalidated)
        /// Another process writes the stream now; this one has stopped (`PSYNC_S1003`).
        package static let leaseLost = Code(value: .leaseLost)

        /// The storage was deleted, made again, or set back while this process used it: nothing that it remembers is true.
        package static let otherStorage = Code(value: .otherStorage)

        package var description: String { value.rawValue }
    }

    /// What went wrong.
    package let code: Code
    /// For operators: names the file, stream or table, and says what to do.
    package let message: String
    /// The error that caused this one.
    package let underlyingError: (any Error)?

    /// Creates an error.
    package init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }

    package var catalogueCode: ErrorCode? {
        switch code {
        case .inUse, .leaseLost: .replicationLocked
        case .unsupportedVersion: .unsupportedStorageVersion
        default: nil
        }
    }

    /// The message behind its code.
    package var description: String { (catalogueCode.map { "[\($0)] " } ?? "") + message }

    package var uncodedDescription: String { message }

    /// A stream is not replicated any more.
    package static func replaced(_ stream: ReplicationStreamID) -> BucketStorageError {
        BucketStorageError(.unknownStream, "Replication stream \(stream) has been replaced by another one.")
    }

    /// Compaction has passed a checkpoint, and what is read may be gone.
    package static func compacted(_ checkpoint: StorageCheckpoint) -> BucketStorageError {
        BucketStorageError(
            .checkpointInvalidated,
            """
            Compaction has taken away what checkpoint \(checkpoint.opID) of replication stream \(checkpoint.streamID) \
            consists of.
            """
        )
    }

    /// Nothing has been replicated yet.
    package static let noActiveStream = BucketStorageError(
        .noActiveStream,
        "No sync config is active yet: nothing has been replicated."
    )
}
