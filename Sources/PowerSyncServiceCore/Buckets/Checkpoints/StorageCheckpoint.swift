package import PowerSyncProtocol

/// A point up to which the stored data of one replication stream is consistent and may be shown to clients
/// (docs/service.md "Checkpoints").
package struct StorageCheckpoint: Sendable, Hashable {
    /// The replication stream whose data this is.
    package var streamID: ReplicationStreamID
    /// The number of the stream's sync config from this checkpoint on, counted from 1.
    package var configNumber: Int64
    /// Operations and parameter entries with an op id up to this one belong to the checkpoint.
    package var opID: OpID
    /// The source position that the checkpoint corresponds to.
    ///
    /// Decides which write checkpoints are visible.
    package var lsn: LSN

    /// Creates a checkpoint.
    package init(streamID: ReplicationStreamID, configNumber: Int64 = 1, opID: OpID, lsn: LSN) {
        self.streamID = streamID
        self.configNumber = configNumber
        self.opID = opID
        self.lsn = lsn
    }

    /// Whether this checkpoint is an advance over an earlier one of the same stream: neither the op id nor the source
    /// position went back, and at least one went on.
    package func advances(over earlier: StorageCheckpoint) -> Bool {
        opID >= earlier.opID && lsn >= earlier.lsn && (opID > earlier.opID || lsn > earlier.lsn)
    }
}
