import Foundation
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncTesting

/// The file system, with something that happens at one of the calls to it.
final class InterruptedStorage: LocalStorageAdapter {
    /// What happens at a call.
    enum Fault: CaseIterable, Sendable {
        /// It fails before it has done anything.
        case failsBefore
        /// It does its work and fails.
        case failsAfter
        /// The task that calls is cancelled before it has done anything.
        case cancelledBefore
        /// It does its work, and the task that called is cancelled.
        case cancelledAfter
        /// It does not return until the test lets it.
        case held
    }

    /// What calls fail with.
    struct Failure: Error {}

    private struct State {
        var calls: [String] = []
        var fault: (call: Int, kind: Fault)?
        var isReleased = false
    }

    private let files = FileManagerStorageAdapter()
    /// Whether calls of cancelled tasks are refused, as those of the file system are.
    private let honoursCancellation: Bool
    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    init(honoursCancellation: Bool = true) {
        self.honoursCancellation = honoursCancellation
    }

    /// The names of the calls since the last one of `arm`.
    var calls: [String] { state.withLockedValue { $0.calls } }

    /// Forgets the calls so far; the one of this number will be interrupted.
    func arm(_ fault: Fault?, at call: Int = 0) {
        state.withLockedValue { $0 = State(fault: fault.map { (call, $0) }) }
    }

    /// Waits until a call has come.
    func wait(for call: String) async throws {
        try await changes.wait { calls.contains(call) ? () : nil }
    }

    /// Waits until a number of calls have come.
    func waitForCalls(_ count: Int) async throws {
        try await changes.wait { calls.count >= count ? () : nil }
    }

    /// Lets the held call go on.
    func release() {
        state.withLockedValue { $0.isReleased = true }
        changes.fire()
    }

    fileprivate func perform<Value: Sendable>(
        _ call: String,
        _ body: @escaping @Sendable (FileManagerStorageAdapter) async throws -> Value
    ) async throws -> Value {
        let fault = state.withLockedValue { state -> Fault? in
            defer { state.calls.append(call) }
            return state.fault?.call == state.calls.count ? state.fault?.kind : nil
        }
        changes.fire()
        switch fault {
        case .failsBefore: throw Failure()
        case .cancelledBefore: withUnsafeCurrentTask { $0?.cancel() }
        // A task of its own does not see the cancellation.
        case .held:
            try await Task { try await changes.wait { state.withLockedValue { $0.isReleased } ? () : nil } }.value
        case .failsAfter, .cancelledAfter, nil: break
        }
        let files = files
        let value = try await honoursCancellation ? body(files) : Task { try await body(files) }.value
        switch fault {
        case .failsAfter: throw Failure()
        case .cancelledAfter: withUnsafeCurrentTask { $0?.cancel() }
        case .failsBefore, .cancelledBefore, .held, nil: break
        }
        return value
    }
}

extension InterruptedStorage {
    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await perform("saveFile") { try await $0.saveFile(filePath: filePath, data: data) }
    }

    func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64 {
        try await perform("saveChunks") { try await $0.saveFile(filePath: filePath, chunks: chunks) }
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await perform("readFile") { try await $0.readFile(filePath: filePath, mediaType: mediaType) }
    }

    func deleteFile(filePath: String) async throws {
        try await perform("deleteFile") { try await $0.deleteFile(filePath: filePath) }
    }

    func fileExists(filePath: String) async throws -> Bool {
        try await perform("fileExists") { try await $0.fileExists(filePath: filePath) }
    }

    func fileSize(filePath: String) async throws -> Int64? {
        try await perform("fileSize") { try await $0.fileSize(filePath: filePath) }
    }

    func makeDir(path: String) async throws {
        try await perform("makeDir") { try await $0.makeDir(path: path) }
    }

    func rmDir(path: String) async throws {
        try await perform("rmDir") { try await $0.rmDir(path: path) }
    }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await perform("copyFile") { try await $0.copyFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func moveFile(sourcePath: String, targetPath: String) async throws {
        try await perform("moveFile") { try await $0.moveFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func linkFile(sourcePath: String, targetPath: String) async throws {
        try await perform("linkFile") { try await $0.linkFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    func removeSource(sourcePath: String) async throws {
        try await perform("removeSource") { try await $0.removeSource(sourcePath: sourcePath) }
    }
}

/// The same storage with a `createFile` of its own: that of the file system, which is exclusive.
struct InterruptedExclusiveStorage: LocalStorageAdapter {
    let base: InterruptedStorage

    func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        try await base.perform("createFile") { try await $0.createFile(content, atFirstFreeOf: paths) }
    }

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await base.saveFile(filePath: filePath, data: data)
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await base.readFile(filePath: filePath, mediaType: mediaType)
    }

    func deleteFile(filePath: String) async throws { try await base.deleteFile(filePath: filePath) }
    func fileExists(filePath: String) async throws -> Bool { try await base.fileExists(filePath: filePath) }
    func fileSize(filePath: String) async throws -> Int64? { try await base.fileSize(filePath: filePath) }
    func makeDir(path: String) async throws { try await base.makeDir(path: path) }
    func rmDir(path: String) async throws { try await base.rmDir(path: path) }
    func removeSource(sourcePath: String) async throws { try await base.removeSource(sourcePath: sourcePath) }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await base.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }

    func moveFile(sourcePath: String, targetPath: String) async throws {
        try await base.moveFile(sourcePath: sourcePath, targetPath: targetPath)
    }
}
