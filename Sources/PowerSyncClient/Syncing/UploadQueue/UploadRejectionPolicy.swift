import PowerSyncCore

/// What becomes of local writes that the backend will never accept: those for which `uploadData` throws an
/// ``UploadRejectionError``.
///
/// ```swift
/// try await database.connect(
///     connector: connector,
///     options: ConnectOptions(uploadRejectionPolicy: .park)
/// )
/// ```
///
/// Whatever is taken out of the queue is kept in the database, in the same transaction:
/// ``PowerSyncDatabaseProtocol/rejectedWrites()``. Other errors of `uploadData` are tried again with every policy.
public struct UploadRejectionPolicy: Sendable, Hashable {
    /// What the engine does with rejected writes; `nil` when they stay in the queue.
    let treatment: RejectedWrites.Treatment?

    /// They are tried again for ever, like after any other error, and block everything behind them: the default.
    public static let retry = UploadRejectionPolicy(treatment: nil)

    /// They are taken out of the queue, and the queue goes on behind them.
    ///
    /// Their rows get the server's state with the next complete checkpoint, so the user loses sight of what was rejected
    /// unless the app shows it. Later writes of the same rows are uploaded; the backend has to cope with an update of a row
    /// whose creation it has rejected.
    public static let skip = UploadRejectionPolicy(treatment: .skip)

    /// They are taken out of the queue together with every later write of the same rows, and the queue goes on without them.
    ///
    /// New writes of such a row join the parked ones when they are made, so a row is never uploaded out of order. Writes of
    /// other rows are uploaded, even if they were made in the same transaction as a write that waits; what is left of that one on
    /// both sides of it counts as two transactions. A parked row keeps what
    /// the user wrote: checkpoints do not replace it until its writes were put back and uploaded, by
    /// ``PowerSyncDatabaseProtocol/restoreParkedWrites()``, or removed. Other devices see the server's state.
    public static let park = UploadRejectionPolicy(treatment: .park)
}

extension UploadRejectionPolicy: CustomStringConvertible {
    /// `retry`, `skip` or `park`.
    public var description: String { treatment.map { "\($0)" } ?? "retry" }
}
