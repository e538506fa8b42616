import PowerSyncCore

// Writes that the backend will never accept.
extension UploadLoop {
    /// How many rejected writes a log message names.
    private static let namedWrites = 10

    /// Takes writes that the backend rejects out of the queue, if the app wants that.
    ///
    /// - Returns: Whether the pass can go on behind them; if not, this is an error like any other.
    /// - Throws: `CancellationError`; the writes stay in the queue then, and are rejected again.
    func setAside(_ error: any Error) async throws -> Bool {
        guard let rejection = error as? UploadRejectionError,
            let treatment = context.options.uploadRejectionPolicy.treatment
        else { return false }
        do {
            let now = SyncInstant(context.environment.now())
            let writeCheckpoint = try rejection.writeCheckpoint.map { try UploadCompletion.number(of: $0) }
            let setAside = try await context.database.write { db in
                try RejectedWrites.setAside(
                    db,
                    rejection.rejected,
                    treatment,
                    writeCheckpoint: writeCheckpoint,
                    at: now
                )
            }
            guard !setAside.rejected.isEmpty else { return false }
            context.log(.warning, UploadLoop.message(about: setAside, rejection, context.options.uploadRejectionPolicy))
            return true
        } catch {
            try Task.checkCancellation()
            context.log(.error, "Rejected local writes could not be taken out of the upload queue: \(error.lineOfText)")
            return false
        }
    }

    /// What happened to which rows, and what can be done about it.
    private static func message(
        about setAside: RejectedWrites.SetAside,
        _ rejection: UploadRejectionError,
        _ policy: UploadRejectionPolicy
    ) -> String {
        let named = setAside.rejected.prefix(namedWrites)
            .map { "\($0.kind.rawValue) \($0.table)/\($0.rowID)" }
            .joined(separator: ", ")
        let more = setAside.rejected.count > namedWrites ? ", …" : ""
        let waiting = setAside.waiting == 0 ? "" : " and \(setAside.waiting) later ones of the same rows"
        return """
            \(rejection). Taken out of the upload queue (\(policy)): \(setAside.rejected.count) local writes\(waiting): \
            \(named)\(more). They are kept in rejectedWrites(), to be restored or removed.
            """
    }
}
