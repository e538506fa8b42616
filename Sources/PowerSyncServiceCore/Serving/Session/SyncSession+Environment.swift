package import PowerSyncProtocol
package import PowerSyncSyncConfig

extension SyncSession {
    /// What all sessions of the process share.
    package struct Environment: Sendable {
        /// Where the buckets are.
        package var storage: any BucketStorage
        /// Tells of checkpoints.
        package var dispatcher: CheckpointDispatcher
        /// Who may read bucket data.
        package var dataReaders: ConcurrencyQueue
        /// How much of what was read for clients may be in memory.
        package var readAhead: ReadAheadBudget
        /// How many streams each user has.
        package var userStreams: UserStreams
        /// Limits of one connection.
        package var limits: BucketLimits
        /// Time and randomness.
        package var timing: Timing

        /// Creates an environment.
        ///
        /// - Parameters:
        ///   - storage: Where the buckets are.
        ///   - dispatcher: Tells of its checkpoints, while it runs.
        ///   - dataReaders: Who may read bucket data.
        ///   - readAhead: How much of what was read for clients may be in memory; as much as they want, if nothing is given.
        ///   - userStreams: How many streams each user has; as many as they want, if nothing is given.
        ///   - limits: Limits of one connection.
        ///   - timing: Time and randomness.
        package init(
            storage: any BucketStorage,
            dispatcher: CheckpointDispatcher,
            dataReaders: ConcurrencyQueue,
            readAhead: ReadAheadBudget = ReadAheadBudget(limit: .max),
            userStreams: UserStreams = UserStreams(limit: .max),
            limits: BucketLimits,
            timing: Timing
        ) {
            self.storage = storage
            self.dispatcher = dispatcher
            self.dataReaders = dataReaders
            self.readAhead = readAhead
            self.userStreams = userStreams
            self.limits = limits
            self.timing = timing
        }
    }

    /// How lines are encoded.
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
