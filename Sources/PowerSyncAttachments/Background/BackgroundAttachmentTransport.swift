#if canImport(Darwin)
public import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient

/// Moves files by a background session of `URLSession`: the system goes on while the app is suspended, and after it was ended for its memory.
///
/// ```swift
/// let transport = BackgroundAttachmentTransport(identifier: "com.example.app.files", base: transportForDeletions) { request in
///     try await backend.sign(request)
/// }
/// ```
///
/// Each file goes to, or comes from, a URL that the closure gives, as with ``SignedURLAttachmentTransport``. The URL must be good for as long as the system
/// may take: it chooses when it transfers, and tries again by itself. An upload is one request for the whole file; deletions are left to
/// another transport.
///
/// A caller that is cancelled, by `stopSyncing()` for example, leaves its transfer to the system. The next one for the same file joins it, also
/// in another process of the app. Files that are encrypted on the device are refused: the system would send them as they are stored.
///
/// Make one transport for an identifier, when the app starts, and hand over what the system calls the app for:
///
/// ```swift
/// func application(
///     _ application: UIApplication,
///     handleEventsForBackgroundURLSession identifier: String,
///     completionHandler: @escaping () -> Void
/// ) {
///     transport.handleEvents { completionHandler() }
/// }
/// ```
public final class BackgroundAttachmentTransport: AttachmentTransportAdapter {
    private let transfers = BackgroundTransfers()
    private let session: URLSession
    private let delegate: BackgroundSessionDelegate
    private let base: any AttachmentTransportAdapter
    private let resolve: @Sendable (SignedURLRequest) async throws -> AttachmentHTTPRequest

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - identifier: The name of the session; no other session of the app has it.
    ///   - container: The App Group whose container the files are in, for sessions of extensions.
    ///   - isDiscretionary: Whether the system may wait for a network and power that suit it.
    ///   - folder: Where downloads are kept until the queue asks for them; in the folder for caches by default.
    ///   - base: Deletes files.
    ///   - resolve: Gives the request for one transfer. It may throw ``AttachmentStorageError``s.
    public init(
        identifier: String,
        container: String? = nil,
        isDiscretionary: Bool = false,
        folder: URL? = nil,
        base: any AttachmentTransportAdapter,
        resolve: @escaping @Sendable (SignedURLRequest) async throws -> AttachmentHTTPRequest
    ) {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.sharedContainerIdentifier = container
        configuration.isDiscretionary = isDiscretionary
        configuration.sessionSendsLaunchEvents = true
        let folder = folder ?? URL.cachesDirectory.appending(path: "powersync-background/\(identifier)")
        let delegate = BackgroundSessionDelegate(transfers, folder: folder)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        self.delegate = delegate
        self.session = session
        self.base = base
        self.resolve = resolve
    }

    /// Finds the tasks of an earlier process.
    private func findTasks() async {
        for task in await session.allTasks {
            guard let transfer = BackgroundTransfer(text: task.taskDescription) else { continue }
            transfers.found(task.taskIdentifier, transfer)
        }
    }

    /// Takes what the system calls the app for: it is called when all events of the session have come.
    ///
    /// - Parameter completion: Calls the closure of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    public func handleEvents(_ completion: @escaping @MainActor @Sendable () -> Void) {
        transfers.willReceiveEvents {
            DispatchQueue.main.async { MainActor.assumeIsolated { completion() } }
        }
    }

    /// Uploads a file with one request.
    ///
    /// The file must not change before the upload is finished.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        guard located.encryption == nil else {
            throw PowerSyncAttachmentError.generalError(
                "A background session cannot send files that are encrypted here."
            )
        }
        let (transfer, file) = (
            BackgroundTransfer(.upload, located.attachment), URL(filePath: located.localPath)
        )
        await findTasks()
        let described = NIOLockedValueBox(
            (request: "The upload of \(located.attachment.filename)", isConditional: false)
        )
        let outcome = try await transfers.transfer(transfer, progress: progress) { [session, resolve] in
            let target = try await resolve(SignedURLRequest(.upload, located.attachment))
            var request = URLRequest(target, method: "PUT")
            if request.value(forHTTPHeaderField: "Content-Type") == nil {
                request.setValue(
                    target.mediaType ?? located.attachment.mediaType,
                    forHTTPHeaderField: "Content-Type"
                )
            }
            if let header = target.digestHeader {
                request.setValue(header.text(of: try await located.sha256()), forHTTPHeaderField: header.name)
            }
            described.withLockedValue {
                $0 = (request.described, request.value(forHTTPHeaderField: "If-None-Match") != nil)
            }
            let task = session.uploadTask(with: request, fromFile: file)
            task.taskDescription = transfer.text
            task.resume()
            return task.taskIdentifier
        }
        let (request, isConditional) = described.withLockedValue(\.self)
        try outcome.check(transfer, request: request, isConditional: isConditional)
    }

    /// Downloads a file with one request; what has come before it was asked for is taken.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        guard located.encryption == nil else {
            throw PowerSyncAttachmentError.generalError(
                "A background session cannot encrypt the files that it receives."
            )
        }
        let transfer = BackgroundTransfer(.download, located.attachment)
        await findTasks()
        let stored = delegate.url(of: transfer)
        let expected = NIOLockedValueBox<AttachmentHTTPRequest?>(nil)
        if !FileManager.default.fileExists(atPath: stored.path(percentEncoded: false)) {
            let described = NIOLockedValueBox("The download of \(located.attachment.filename)")
            let outcome = try await transfers.transfer(transfer, progress: progress) { [session, resolve] in
                let target = try await resolve(SignedURLRequest(.download, located.attachment))
                expected.withLockedValue { $0 = target }
                let request = URLRequest(target, method: "GET")
                described.withLockedValue { $0 = request.described }
                let task = session.downloadTask(with: request)
                task.taskDescription = transfer.text
                task.resume()
                return task.taskIdentifier
            }
            try outcome.check(transfer, request: described.withLockedValue(\.self), isConditional: false)
        }
        let target = URL(filePath: located.localPath)
        try? FileManager.default.removeItem(at: target)
        try FileManager.default.moveItem(at: stored, to: target)
        let wanted = expected.withLockedValue(\.self)
        let size = try FileManager.default.attributesOfItem(atPath: located.localPath)[.size] as? Int64 ?? 0
        var digest: Data?
        if wanted?.sha256 != nil { digest = try await FileDigest.sha256(path: located.localPath) }
        var expectation = DownloadExpectation(
            total: nil,
            size: wanted?.size ?? located.attachment.size,
            request: "The download of \(located.attachment.filename)"
        )
        if let announced = wanted?.sha256 { expectation.digests = [announced] }
        do {
            try expectation.check(bytes: size, digest: digest)
        } catch {
            try? FileManager.default.removeItem(at: target)
            throw error
        }
    }

    /// Deletes a remote file.
    public func delete(_ attachment: Attachment) async throws {
        try await base.delete(attachment)
    }
}

/// Hands what the system says to ``BackgroundTransfers``, and keeps the files of downloads, which are gone when its call returns.
private final class BackgroundSessionDelegate: NSObject, URLSessionDownloadDelegate, Sendable {
    private let transfers: BackgroundTransfers
    private let folder: URL

    init(_ transfers: BackgroundTransfers, folder: URL) {
        self.transfers = transfers
        self.folder = folder
    }

    /// Where the file of a download is kept.
    func url(of transfer: BackgroundTransfer) -> URL { folder.appending(path: transfer.storedName) }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard let transfer = BackgroundTransfer(text: task.taskDescription) else { return }
        transfers.progressed(transfer, bytes: totalBytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        guard let transfer = BackgroundTransfer(text: downloadTask.taskDescription) else { return }
        transfers.progressed(transfer, bytes: totalBytesWritten, of: totalBytesExpectedToWrite)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        guard let transfer = BackgroundTransfer(text: downloadTask.taskDescription),
            let answer = downloadTask.response as? HTTPURLResponse, (200..<300).contains(answer.statusCode)
        else { return }
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(at: url(of: transfer))
        try? FileManager.default.moveItem(at: location, to: url(of: transfer))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let transfer = BackgroundTransfer(text: task.taskDescription) else { return }
        transfers.completed(task.taskIdentifier, transfer, outcome(of: task, error))
    }

    private func outcome(of task: URLSessionTask, _ error: (any Error)?) -> BackgroundOutcome {
        if let error {
            let code = (error as? URLError)?.code
            if code == .cancelled { return .cancelled }
            return .failed(isTimeout: code == .timedOut, message: error.localizedDescription)
        }
        guard let answer = task.response as? HTTPURLResponse else {
            return .failed(isTimeout: false, message: "there was no answer")
        }
        return .answered(status: answer.statusCode)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        transfers.didReceiveEvents()
    }
}

extension URLRequest {
    fileprivate init(_ target: AttachmentHTTPRequest, method: String) {
        self.init(url: target.url)
        httpMethod = target.method ?? method
        for (name, value) in target.headers { setValue(value, forHTTPHeaderField: name) }
    }

    /// Method and URL, without the query, which has the signature.
    fileprivate var described: String {
        var components = url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false) }
        components?.query = nil
        return "\(httpMethod ?? "GET") \(components?.string ?? "")"
    }
}
#endif
