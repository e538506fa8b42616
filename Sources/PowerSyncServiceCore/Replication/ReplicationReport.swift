/// What a ``Replicator`` tells of a stream, for probes and operators.
package enum ReplicationReport: Sendable {
    /// An attempt has failed; with a ``ReplicationSourceError`` if the source is to blame.
    case failed(any Error)
    /// Something was committed to the storage.
    case written
    /// The tables that are left out, which were others before; empty when there is none any more.
    case leftOut([TableObstacle])
    /// The problem is solved, or the work is not tried any more. It says nothing about the storage.
    case ended

    /// Why an attempt has failed.
    package var error: (any Error)? {
        if case .failed(let error) = self { error } else { nil }
    }
}
