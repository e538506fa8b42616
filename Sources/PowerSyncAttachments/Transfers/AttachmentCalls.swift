import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient

/// Calls into the app's code that the attempt to transfer one attachment makes, each with ``AttachmentQueueOptions/transferLimit``.
///
/// An overdue call is cancelled and waited for, so the attempt goes on when it has returned, and no second call is made for the attachment
/// before. Meanwhile the run gives the slot of the attempt to another attachment, and the progress names the call.
struct AttachmentCalls: Sendable {
    let context: TransferContext
    /// The attachment.
    let id: String
    /// Called with `true` when a call is overdue, and with `false` when it has returned after all.
    let overdueChanged: @Sendable (Bool) -> Void

    /// Calls the app.
    ///
    /// - Parameters:
    ///   - name: The method or closure.
    ///   - body: Calls it, and reports progress to the call.
    /// - Returns: What `body` returns, also after the limit.
    /// - Throws: What `body` throws; ``OverdueCallError`` in place of that after the limit.
    func callAsFunction<Value: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (AppCall) async throws -> Value
    ) async throws -> Value {
        let part = AttachmentCallPart(name)
        let (limit, since) = (context.options.callLimit, context.now())
        let call = AppCall(
            "\(name) of the attachment \(id)",
            limit: limit,
            clock: context.clock,
            // Pausing cancels the attempt, whose slot is occupied until the call returns.
            outlivesCancellation: true
        )
        // What it was called then: the closure of the app that it was in has returned since.
        let overdueName = NIOLockedValueBox<String?>(nil)
        defer {
            if let name = overdueName.withLockedValue({ $0 }) {
                context.progress.returned(id)
                overdueChanged(false)
                context.log(.info, "\(name) of the attachment \(id), which was overdue, has returned.")
            }
        }
        return try await AttachmentCallPart.$current.withValue(part) {
            try await call.run({ try await body(call) }) { _ in
                let name = part.name
                overdueName.withLockedValue { $0 = name }
                part.becameOverdue()
                let overdue = OverdueAttachmentCall(attachmentId: id, call: name, since: since)
                context.progress.overdue(overdue)
                context.log(
                    .warning,
                    "\(overdue), without progress for \(limit.duration) (the limit is \(limit.option)). It was cancelled. Until it "
                        + "returns, this attachment waits; the others go on."
                )
                overdueChanged(true)
            }
        }
    }

    /// Asks the app where the file of a name is.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    func path(of filename: String) async throws -> String {
        // Nothing of the app's is called where the queue knows the directory.
        guard context.paths.directory == nil else { return try await context.paths.path(of: filename) }
        return try await self("getLocalUri") { _ in try await context.paths.path(of: filename) }
    }
}
