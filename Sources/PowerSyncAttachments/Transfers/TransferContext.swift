import Foundation
import PowerSyncClient

/// The answer of an app that is asked whether a transfer may begin.
public typealias AttachmentTransferPolicy =
    @Sendable (_ attachment: Attachment, _ direction: AttachmentTransferProgress.Direction) async -> Bool

/// What transfers need.
struct TransferContext: Sendable {
    /// Moves the bytes.
    let transport: any AttachmentTransportAdapter
    /// Whether an interrupted download can be continued.
    let keepsPartialDownloads: Bool
    /// Where the files are on this device.
    let localStorage: any LocalStorageAdapter
    /// The attachments table.
    let service: any AttachmentServiceProtocol
    /// The directory for files; `nil` when that is not known.
    let directory: String?
    /// Where each file is.
    let paths: AttachmentPaths
    /// How to transfer.
    let options: AttachmentQueueOptions
    /// Where messages go.
    let logger: any LoggerProtocol
    /// What other queues of the table see.
    let table: SharedAttachmentTable
    /// Tells how far transfers are.
    let progress: TransferProgressHub
    /// Measures intervals and waits.
    let clock: ElapsedClock
    /// Random numbers, 0 ..< 1.
    let random: @Sendable () -> Double
    /// Whether there is nothing to do any more.
    let isDatabaseClosed: @Sendable () -> Bool
    /// The date, for messages.
    var now: @Sendable () -> Date = { Date() }

    /// Removes archived attachments that the cache has no room for, one round.
    ///
    /// The caller holds the service's lock.
    func expire(_ context: AttachmentContext, besides failed: Set<String> = []) async throws -> ExpiryRound {
        try await context.expire(byteLimit: options.archivedCacheByteLimit, besides: failed) { attachment in
            guard let path = attachment.localUri else { return }
            // A file whose name breaks the rules is never touched.
            guard (try? await paths.path(of: attachment.filename)) != nil else { return }
            try await removeFile(at: path)
        }
    }

    /// Removes a file, if there is one.
    ///
    /// It is asked for before: adapters of apps may throw for what is not there, and what throws is tried again for ever.
    func removeFile(at path: String) async throws {
        guard try await localStorage.fileExists(filePath: path) else { return }
        try await localStorage.deleteFile(filePath: path)
    }

    /// Removes what an interrupted download has left.
    ///
    /// - Parameter target: The path of the file name.
    func discardPartialDownload(at target: String) async {
        for path in AttachmentPath.downloadFiles(for: target) {
            do {
                try await removeFile(at: path)
            } catch {
                log(.warning, "A part of a download could not be removed: \(error.localizedDescription)")
            }
        }
    }

    /// Whether the app's code takes and gives whole files.
    var takesWholeFiles: Bool { transport is BufferedAttachmentTransport }

    /// Logs a message about attachments.
    func log(_ severity: LogSeverity, _ message: String) {
        logger.log(severity, message, tag: LogTag.attachments)
    }
}
