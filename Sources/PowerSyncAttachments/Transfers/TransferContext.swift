import Foundation
import PowerSyncClient

/// The answer of an app that is asked whether a transfer may begin.
public typealias AttachmentTransferPolicy =
    @Sendable (_ attachment: Attachment, _ direction: AttachmentTransferProgress.Direction) async -> Bool

/// How a queue transfers.
struct TransferOptions: Sendable {
    /// How many transfers run at a time.
    var maxConcurrentTransfers = 1
    /// Decides what is tried again; `nil` for everything.
    var errorHandler: (any SyncErrorHandler)?
    /// Asked before each transfer; `nil` allows all.
    var policy: AttachmentTransferPolicy?
    /// The least time between two looks at the table that are caused by triggers.
    var throttle: Duration
    /// Whether attachments are downloaded.
    var downloads = true
    /// How many bytes of archived files are kept, besides the limit on their number.
    var archivedCacheByteLimit: Int64?
    /// How long a call into the app's code may go on without progress.
    var callLimit = TransferOptions.callLimit(TransferOptions.defaultCallLimit)

    /// How long a call into the app's code may go on without progress unless the app chooses another limit: 10 minutes.
    static let defaultCallLimit = Duration.seconds(600)

    /// The limit of calls that an app has chosen.
    static func callLimit(_ limit: Duration) -> AppCallLimit {
        AppCallLimit(limit > .zero ? limit : Argument.longestTime, option: "AttachmentQueueOptions.transferLimit")
    }
}

/// What transfers need.
struct TransferContext: Sendable {
    /// The attachments on this device.
    let files: AttachmentFiles
    /// Moves the bytes.
    let transport: any AttachmentTransportAdapter
    /// How to transfer.
    let options: TransferOptions
    /// Tells subscribers how far transfers are.
    let progress = TransferProgressHub()
    /// Measures intervals and waits.
    let clock: ElapsedClock
    /// The date, for messages, and random numbers.
    let environment: AttachmentEnvironment
    /// Whether there is nothing to do any more.
    let isDatabaseClosed: @Sendable () -> Bool

    /// Puts together what transfers need.
    init(
        files: AttachmentFiles,
        transport: any AttachmentTransportAdapter,
        options: TransferOptions,
        environment: AttachmentEnvironment = AttachmentEnvironment(),
        isDatabaseClosed: @escaping @Sendable () -> Bool = { false }
    ) {
        self.files = files
        self.transport = transport
        self.options = options
        self.clock = ElapsedClock(environment.clock)
        self.environment = environment
        self.isDatabaseClosed = isDatabaseClosed
    }

    /// Removes what an interrupted download has left.
    ///
    /// - Parameter target: The path of the file name.
    func discardPartialDownload(at target: String) async {
        for path in AttachmentPath.downloadFiles(for: target) {
            do {
                try await files.removeFile(at: path)
            } catch {
                files.log(.warning, "A part of a download could not be removed: \(error.localizedDescription)")
            }
        }
    }

    /// Whether the app's code takes and gives whole files, so that an interrupted download cannot be continued.
    var takesWholeFiles: Bool { transport is BufferedAttachmentTransport }
}
