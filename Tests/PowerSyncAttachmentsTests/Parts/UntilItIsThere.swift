import PowerSyncAttachments

/// Transfers again and again while the connection breaks, as a queue does, sixteen times at most.
///
/// After a cut, the next attempt may get a connection that the cut has ended, too.
func untilItIsThere(_ transfer: () async throws -> Void) async throws {
    for _ in 0..<15 {
        do {
            return try await transfer()
        } catch let error as AttachmentTransferError where [.connection, .timeout].contains(error.code) {
            continue
        }
    }
    try await transfer()
}
