package import PowerSyncProtocol
package import PowerSyncSyncConfig

extension SyncSession {
    /// The dependencies that all sessions of the process share.
    package struct Environment: Sendable {
        /// The storage of the buckets.
        package var storage: any BucketStorage
        /// Wakes sessions when a checkpoint concerns them.
        package var dispatcher: CheckpointDispatcher
        /// The semaphore of reads of bucket data: as many sessions read at the same time as it has slots.
        package var dataReaders: ConcurrencyQueue
        /// Counts the open streams of each user, and refuses those beyond the limit.
        package var userStreams: UserStreams
        /// Limits of one connection.
        package var limits: BucketLimits
        /// Time and randomness.
        package var timing: Timing

        /// The ledger of the memory for lines.
        package var memory: LineMemory { dispatcher.memory }

        /// Creates an environment.
        ///
        /// - Parameters:
        ///   - storage: The storage of the buckets.
        ///   - dispatcher: Wakes sessions when a checkpoint of the storage concerns them, while it runs.
        ///   - dataReaders: The semaphore of reads of bucket data.
        ///   - userStreams: Counts the open streams of each user; without a limit by default.
        ///   - limits: Limits of one connection.
        ///   - timing: Time and randomness.
        package init(
            storage: any BucketStorage,
            dispatcher: CheckpointDispatcher,
            dataReaders: ConcurrencyQueue,
            userStreams: UserStreams = UserStreams(limit: .max),
            limits: BucketLimits,
            timing: Timing
        ) {
            self.storage = storage
            self.dispatcher = dispatcher
            self.dataReaders = dataReaders
            self.userStreams = userStreams
            self.limits = limits
            self.timing = timing
        }
    }

    /// The encoding of lines.
    package struct Encoding: Sendable, Hashable {
        /// The format of the response.
        package var format: SyncLineFormat
        /// NDJSON only: whether row data is a string rather than an object.
        package var isRawData: Bool

        /// Creates an encoding.
        package init(format: SyncLineFormat, isRawData: Bool) {
            self.format = format
            self.isRawData = isRawData
        }
    }
}
