/// Which log of a source positions belong to.
///
/// Positions of one history have an order, positions of two have none. A source gives itself another history when it
/// is no longer the one it was: restored from a backup, rolled back, or replaced (PostgreSQL: system identifier and
/// timeline). Ids never come again, except with a backup that is restored; that is noticed as another history, too.
package struct SourceHistory: RawRepresentable, Hashable, Sendable {
    /// The id as text, as stored in the bucket storage.
    package let rawValue: String

    /// Creates an id from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension SourceHistory: CustomStringConvertible {
    package var description: String { rawValue }
}

/// A position in one history of a source.
package struct SourcePosition: Hashable, Sendable {
    /// The log that the position belongs to.
    package var history: SourceHistory
    /// The position in it.
    package var lsn: LSN

    /// Creates a position.
    package init(_ lsn: LSN, of history: SourceHistory) {
        self.history = history
        self.lsn = lsn
    }
}

extension SourcePosition: CustomStringConvertible {
    package var description: String { "\(lsn) of \(history)" }
}

/// A position up to which a storage has everything on disk, so that not even a power failure takes it back.
///
/// Only ``BucketStorageWriter/makeDurable()`` makes one, and only such a position is acknowledged to a source: what a
/// source has forgotten exists nowhere else.
package struct DurablePosition: Hashable, Sendable {
    /// The position.
    package let position: SourcePosition

    /// Creates the proof; for writers, after the disk has confirmed everything up to the position.
    package init(confirmedByDisk position: SourcePosition) {
        self.position = position
    }
}
