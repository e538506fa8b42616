public import Foundation
import NIOConcurrencyHelpers
public import PowerSync

/// A local storage in memory, for tests.
///
/// Files are kept by path; `/a/./b`, `/a//b` and `/a/c/../b` are the same path. A test can look at the files, let operations fail as a
/// full disk would, and hold them in the middle.
///
/// ```swift
/// let local = InMemoryLocalStorage()
/// local.fail(.save, with: PowerSyncAttachmentError.ioError(POSIXError(.ENOSPC)), times: 1)
/// ```
public final class InMemoryLocalStorage: LocalStorageAdapter {
    /// What a local storage is asked for.
    public enum Operation: Sendable, Hashable, CaseIterable {
        /// To write a file.
        case save
        /// To read a file.
        case read
        /// To remove a file.
        case delete
        /// Whether there is a file, or how large it is.
        case exists
        /// To create a directory.
        case makeDirectory
        /// To remove a directory.
        case removeDirectory
        /// To copy a file, or to give it a second path.
        case copy
        /// To move a file.
        case move
    }

    /// A request that the storage received.
    public struct Call: Sendable, Hashable {
        /// What was asked for.
        public let operation: Operation
        /// The path; that of the target for copies and moves.
        public let path: String

        /// Creates a call, to compare with.
        public init(_ operation: Operation, path: String) {
            self.operation = operation
            self.path = path
        }
    }

    private struct Content {
        var files: [String: Data]
        /// When each file was last written; files from the beginning were in the distant past.
        var changes: [String: Date] = [:]
        var directories: Set<String> = []
    }

    private let content: NIOLockedValueBox<Content>
    private let script = StorageScript<Operation>()
    private let now: @Sendable () -> Date

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - files: What it holds: contents by path. They count as old.
    ///   - now: The time at which files are written.
    public init(files: [String: Data] = [:], now: @escaping @Sendable () -> Date = { Date() }) {
        self.now = now
        let pairs = files.map { (InMemoryLocalStorage.normalized($0.key), $0.value) }
        content = NIOLockedValueBox(Content(files: Dictionary(pairs) { _, last in last }))
    }

    /// What the storage holds: contents by path.
    public var files: [String: Data] { content.withLockedValue { $0.files } }

    /// The directories that were created and not removed.
    public var directories: Set<String> { content.withLockedValue { $0.directories } }

    /// The content of a file, by its path.
    ///
    /// Set it to damage, lose or restore a file behind the queue's back.
    public subscript(path: String) -> Data? {
        get { content.withLockedValue { $0.files[InMemoryLocalStorage.normalized(path)] } }
        set { content.withLockedValue { $0.files[InMemoryLocalStorage.normalized(path)] = newValue } }
    }

    /// All requests so far, in the order in which they came.
    public var calls: [Call] { script.calls.map { Call($0.operation, path: $0.subject) } }

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
    ///   - path: Which file's; `nil` for all.
    ///   - error: What they fail with.
    ///   - times: How many of them; `nil` for all until ``stopFailing()``.
    public func fail(_ operation: Operation, path: String? = nil, with error: any Error, times: Int? = nil) {
        script.fail(operation, of: path.map(InMemoryLocalStorage.normalized), with: error, times: times)
    }

    /// Lets all requests succeed again.
    public func stopFailing() {
        script.stopFailing()
    }

    /// Holds requests before they do anything, until the gate opens.
    ///
    /// - Parameters:
    ///   - operation: Which kind of requests.
    ///   - path: Which file's; `nil` for all.
    ///   - ignoringCancellation: Whether they go on waiting when their task is cancelled.
    /// - Returns: The gate.
    @discardableResult
    public func hold(_ operation: Operation, path: String? = nil, ignoringCancellation: Bool = false) -> StorageGate {
        script.hold(
            operation,
            of: path.map(InMemoryLocalStorage.normalized),
            ignoringCancellation: ignoringCancellation
        )
    }
}

extension InMemoryLocalStorage {
    /// Stores a file; replaces an existing one.
    ///
    /// - Returns: The number of bytes.
    public func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await run(.save, filePath) { content, path in
            content.files[path] = data
            content.changes[path] = now()
            return Int64(data.count)
        }
    }

    /// Gives a file.
    public func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await run(.read, filePath) { content, path in
            guard let data = content.files[path] else { throw PowerSyncAttachmentError.fileNotFound(filePath) }
            return data
        }
    }

    /// Removes a file.
    ///
    /// No error when there is none.
    public func deleteFile(filePath: String) async throws {
        try await run(.delete, filePath) { content, path in content.files[path] = nil }
    }

    /// Whether there is a file.
    public func fileExists(filePath: String) async throws -> Bool {
        try await fileSize(filePath: filePath) != nil
    }

    /// The size of a file in bytes; `nil` when there is none.
    public func fileSize(filePath: String) async throws -> Int64? {
        try await run(.exists, filePath) { content, path in content.files[path].map { Int64($0.count) } }
    }

    /// Remembers a directory.
    public func makeDir(path: String) async throws {
        try await run(.makeDirectory, path) { content, path in
            content.directories.insert(path)
            return ()
        }
    }

    /// Removes a directory with all files below it.
    ///
    /// No error when there is none.
    public func rmDir(path: String) async throws {
        try await run(.removeDirectory, path) { content, path in
            let below = path.hasSuffix("/") ? path : path + "/"
            content.directories = content.directories.filter { $0 != path && !$0.hasPrefix(below) }
            content.files = content.files.filter { !$0.key.hasPrefix(below) }
        }
    }

    /// Copies a file; replaces an existing one.
    public func copyFile(sourcePath: String, targetPath: String) async throws {
        try await run(.copy, targetPath) { content, target in
            let source = InMemoryLocalStorage.normalized(sourcePath)
            guard let data = content.files[source] else { throw PowerSyncAttachmentError.fileNotFound(sourcePath) }
            content.files[target] = data
            content.changes[target] = now()
        }
    }

    /// Moves a file; replaces an existing one.
    public func moveFile(sourcePath: String, targetPath: String) async throws {
        try await run(.move, targetPath) { content, target in
            let source = InMemoryLocalStorage.normalized(sourcePath)
            guard let data = content.files.removeValue(forKey: source) else {
                throw PowerSyncAttachmentError.fileNotFound(sourcePath)
            }
            content.files[target] = data
            content.changes[target] = now()
        }
    }

    /// The files below a directory that were last written before a date.
    public func files(path: String, notChangedSince date: Date) async throws -> [String] {
        let path = InMemoryLocalStorage.normalized(path)
        let below = path.hasSuffix("/") ? path : path + "/"
        return content.withLockedValue { content in
            content.files.keys.filter { $0.hasPrefix(below) && content.changes[$0] ?? .distantPast < date }
        }
    }

    private func run<Result: Sendable>(
        _ operation: Operation,
        _ path: String,
        _ body: (inout Content, String) throws -> Result
    ) async throws -> Result {
        let path = InMemoryLocalStorage.normalized(path)
        return try await script.run(operation, of: path) {
            try content.withLockedValue { content throws -> Result in try body(&content, path) }
        }
    }

    /// The path without empty and relative components.
    private static func normalized(_ path: String) -> String {
        var components: [Substring] = []
        for component in path.split(separator: "/") {
            switch component {
            case ".": continue
            case "..": _ = components.popLast()
            default: components.append(component)
            }
        }
        return "/" + components.joined(separator: "/")
    }
}
