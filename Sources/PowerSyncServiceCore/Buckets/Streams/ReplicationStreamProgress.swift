package import Foundation

/// How far a replication stream is, for operators.
package struct ReplicationStreamProgress: Sendable {
    /// The published checkpoint; `nil` before the first one.
    package var checkpoint: StorageCheckpoint?
    /// When the checkpoint was made; `nil` when there is none, or the storage does not know.
    package var checkpointedAt: Date?
    /// From where the source is read after a restart; `nil` for a stream that has not begun.
    package var resumePosition: SourcePosition?
    /// The tables that the stream has records of.
    package var tables: [SourceTable]

    /// Creates a description.
    package init(
        checkpoint: StorageCheckpoint?,
        checkpointedAt: Date?,
        resumePosition: SourcePosition?,
        tables: [SourceTable]
    ) {
        self.checkpoint = checkpoint
        self.checkpointedAt = checkpointedAt
        self.resumePosition = resumePosition
        self.tables = tables
    }
}
