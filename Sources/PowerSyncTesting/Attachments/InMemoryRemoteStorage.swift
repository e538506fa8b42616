public import Foundation
import NIOConcurrencyHelpers
public import PowerSync

/// A remote storage in memory, for tests.
///
/// Files are kept by their names. A test can look at them, put some there as if another device had uploaded them, let operations
/// fail, and hold them in the middle:
///
/// ```swift
/// let remote = InMemoryRemoteStorage(files: ["1.jpg": photo])
/// remote.fail(.download, with: URLError(.notConnectedToInternet), times: 3)
/// let queue = AttachmentQueue(db: db, remoteStorage: remote, attachmentsDirectory: directory, watchAttachments: references)
/// ```
public final class InMemoryRemoteStorage: RemoteStorageAdapter {
    /// What a remote storage is asked for.
    public enum Operation: Sendable, Hashable, CaseIterable {
        /// To store a file.
        case upload
        /// To give a file.
        case download
        /// To delete a file.
        case delete
    }

    /// A request that the storage received.
    public struct Call: Sendable, Hashable {
        /// What was asked for.
        public let operation: Operation
        /// The id of the attachment.
        public let id: String

        /// Creates a call, to compare with.
        public init(_ operation: Operation, id: String) {
            self.operation = operation
            self.id = id
        }
    }

    private let content: NIOLockedValueBox<[String: Data]>
    private let script = StorageScript<Operation>()

    /// Creates a storage.
    ///
    /// - Parameter files: What it holds: contents by file name.
    public init(files: [String: Data] = [:]) {
        content = NIOLockedValueBox(files)
    }

    /// What the storage holds: contents by file name.
    public var files: [String: Data] { content.withLockedValue { $0 } }

    /// The content of a file, by its name.
    ///
    /// Set it to act as another device.
    public subscript(filename: String) -> Data? {
        get { content.withLockedValue { $0[filename] } }
        set { content.withLockedValue { $0[filename] = newValue } }
    }

    /// All requests so far, in the order in which they came.
    public var calls: [Call] { script.calls.map { Call($0.operation, id: $0.subject) } }

    /// The most requests that were being worked on at the same time.
    public var mostConcurrentCalls: Int { script.mostRunning }

    /// Waits until a number of requests of a kind have come.
    ///
    /// - Parameters:
    ///   - count: The number, from the beginning.
    ///   - operation: The kind.
    /// - Throws: `CancellationError`
    public func waitForCalls(_ count: Int, of operation: Operation) async throws {
        try await script.waitForCalls(count, of: operation)
    }

    /// Lets requests fail.
    ///
    /// They leave the files as they are.
    ///
    /// - Parameters:
    ///   - operation: Which kind of requests.
    ///   - id: Which attachment's; `nil` for all.
    ///   - error: What they fail with.
    ///   - times: How many of them; `nil` for all until ``stopFailing()``.
    public func fail(_ operation: Operation, id: String? = nil, with error: any Error, times: Int? = nil) {
        script.fail(operation, of: id, with: error, times: times)
    }

    /// Lets all requests succeed again.
    public func stopFailing() {
        script.stopFailing()
    }

    /// Holds requests before they do anything, until the gate opens.
    ///
    /// - Parameters:
    ///   - operation: Which kind of requests.
    ///   - id: Which attachment's; `nil` for all.
    ///   - ignoringCancellation: Whether they go on waiting when their task is cancelled, as a badly written adapter would.
    /// - Returns: The gate.
    @discardableResult
    public func hold(_ operation: Operation, id: String? = nil, ignoringCancellation: Bool = false) -> StorageGate {
        script.hold(operation, of: id, ignoringCancellation: ignoringCancellation)
    }

    /// Stores a file; replaces one of the same name.
    public func uploadFile(fileData: Data, attachment: Attachment) async throws {
        try await script.run(.upload, of: attachment.id) {
            content.withLockedValue { $0[attachment.filename] = fileData }
        }
    }

    /// Gives a file.
    ///
    /// - Throws: `AttachmentStorageError.notFound`, or the error of a scripted failure.
    public func downloadFile(attachment: Attachment) async throws -> Data {
        try await script.run(.download, of: attachment.id) {
            guard let data = content.withLockedValue({ $0[attachment.filename] }) else {
                throw AttachmentStorageError.notFound
            }
            return data
        }
    }

    /// Deletes a file.
    ///
    /// - Throws: `AttachmentStorageError.notFound` when there is none, or the error of a scripted failure.
    public func deleteFile(attachment: Attachment) async throws {
        try await script.run(.delete, of: attachment.id) {
            let removed = content.withLockedValue { $0.removeValue(forKey: attachment.filename) }
            guard removed != nil else { throw AttachmentStorageError.notFound }
        }
    }
}
