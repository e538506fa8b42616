/// One message of the service's response to a sync request.
///
/// A line is an object with exactly one member whose name selects the kind (docs/protocol.md "Lines"). The same values
/// are decoded by clients and encoded by services, as JSON and as BSON.
package enum SyncLine: Sendable, Equatable {
    /// `checkpoint`: the complete description of a target state.
    case checkpoint(Checkpoint)
    /// `checkpoint_diff`: changes relative to the checkpoint that is being tracked.
    case checkpointDiff(CheckpointDiff)
    /// `data`: operations of one bucket.
    case data(DataLine)
    /// `partial_checkpoint_complete`: everything up to a priority has been sent.
    case partialCheckpointComplete(PartialCheckpointComplete)
    /// `checkpoint_complete`: everything has been sent.
    case checkpointComplete(CheckpointComplete)
    /// `token_expires_in`: keepalive with the remaining lifetime of the token in seconds.
    case keepalive(tokenExpiresIn: Int32)
    /// A kind that this version does not know; receivers ignore it.
    case unknown(kind: String)
}
