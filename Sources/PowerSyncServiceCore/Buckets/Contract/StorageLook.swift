/// What ``BucketStorage/follow(_:)`` has found out.
package enum StorageLook: Sendable, Equatable {
    /// The checkpoint of the served stream is known; streams are what they were.
    case looked
    /// So it is, and there are other streams, or some have another state; also the first look, which cannot tell.
    case streamsChanged
    /// The storage could not be asked.
    case failed
    /// Another process has recorded a write checkpoint of a user, which checkpoints from a position on cover.
    case writeCheckpoint(userKey: String, LSN)
    /// Other processes may have recorded write checkpoints of any user.
    case writeCheckpointsMissed
}
