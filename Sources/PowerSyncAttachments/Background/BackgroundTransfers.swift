import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient

/// What a transfer is about that the system makes for the app: the description of its task, from which another process finds it again.
struct BackgroundTransfer: Codable, Hashable, Sendable {
    var kind: SignedURLRequest.Operation
    /// The id of the attachment.
    var id: String
    /// The name of its file.
    var filename: String

    /// The text for `URLSessionTask.taskDescription`.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The transfer of a description; `nil` for a task that is none of ours.
    init?(text: String?) {
        guard let text, let transfer = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = transfer
    }

    init(_ kind: SignedURLRequest.Operation, _ attachment: Attachment) {
        self.kind = kind
        id = attachment.id
        filename = attachment.filename
    }

    /// The name of the file that a download becomes, until the queue asks for it: 64 hexadecimal digits.
    var storedName: String {
        FileDigest.sha256(of: Data(text.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}

/// How a transfer of the system has ended.
enum BackgroundOutcome: Sendable, Equatable {
    /// The storage has answered with a status.
    case answered(status: Int)
    /// There is no answer.
    case failed(isTimeout: Bool, message: String)
    /// The task was cancelled.
    case cancelled

    /// What the queue is told; nothing for success.
    ///
    /// - Parameters:
    ///   - transfer: What was transferred.
    ///   - request: Method and URL without its query, for messages.
    ///   - isConditional: Whether the storage was asked not to replace a file.
    /// - Throws: ``AttachmentTransferError``, ``AttachmentStorageError``, `CancellationError`
    func check(_ transfer: BackgroundTransfer, request: String, isConditional: Bool) throws {
        switch self {
        case .answered(200..<300): return
        // An earlier attempt has brought the file there.
        case .answered(412) where transfer.kind == .upload && isConditional: return
        case .answered(404) where transfer.kind == .download, .answered(410) where transfer.kind == .download:
            throw AttachmentStorageError.notFound
        case .answered(let status):
            throw AttachmentTransferError(
                .status,
                message: "\(request) was answered with status \(status)",
                httpStatus: status
            )
        case .failed(let isTimeout, let message):
            throw AttachmentTransferError(isTimeout ? .timeout : .connection, message: "\(request) failed: \(message)")
        case .cancelled: throw CancellationError()
        }
    }

    /// Whether it stands for later: what was refused or has failed is transferred again when it is asked for again.
    fileprivate var isKept: Bool { if case .answered(200..<300) = self { true } else { false } }
}

/// The transfers that the system makes for the app, and their waiters; what a delegate of a background session is told comes here.
///
///                 transfer()                      completed(): a caller waits
///     nothing ────────────────► running ───────────────────────────────────────► nothing
///        ▲   found(): a task of    │  ▲
///        │   an earlier process    │  │ transfer(): joins it
///        │                         ▼  │
///        │  transfer()          running, no caller ──completed(): success──► kept
///        └───────────────────────────────────────────────────────────────────┘
///
/// A caller that is cancelled leaves its task to the system: that is what it is for. A success that no caller has waited for is kept until one
/// asks, in this process; everything else is forgotten.
final class BackgroundTransfers: Sendable {
    /// The number of a task in its session.
    typealias TaskID = Int

    private struct Running {
        /// The number of the task; `nil` while it is being begun.
        var task: TaskID?
        /// How a task has ended before its number was known.
        var outcome: BackgroundOutcome?
        var progress: (@Sendable (Int64, Int64?) -> Void)?
        var caller: CheckedContinuation<BackgroundOutcome, any Error>?
    }

    private struct State {
        var running: [BackgroundTransfer: Running] = [:]
        /// Transfers that were successful while no caller waited.
        var kept: [BackgroundTransfer: BackgroundOutcome] = [:]
        /// The tasks that have ended in this process.
        var ended: Set<TaskID> = []
        /// What is called when all events of the system have come.
        var completion: (@Sendable () -> Void)?

        mutating func end(_ transfer: BackgroundTransfer, _ outcome: BackgroundOutcome) {
            running[transfer] = nil
            if outcome.isKept { kept[transfer] = outcome }
        }
    }

    /// What is known of a transfer, for tests.
    enum Condition: Sendable {
        case nothing, running, waitedFor, kept
    }

    private let state = NIOLockedValueBox(State())
    /// Called when a caller waits for a transfer.
    private let didBeginToWait: @Sendable () -> Void

    /// Creates a list without transfers.
    ///
    /// - Parameter didBeginToWait: Called whenever a caller has begun to wait for a transfer, for tests.
    init(didBeginToWait: @escaping @Sendable () -> Void = {}) {
        self.didBeginToWait = didBeginToWait
    }

    /// What is known of a transfer.
    func condition(of transfer: BackgroundTransfer) -> Condition {
        state.withLockedValue { state in
            if state.kept[transfer] != nil { return .kept }
            guard let running = state.running[transfer] else { return .nothing }
            return running.caller == nil ? .running : .waitedFor
        }
    }

    /// A task is there, which an earlier process may have left; of one that has ended in the meantime it is not known any more.
    func found(_ task: TaskID, _ transfer: BackgroundTransfer) {
        state.withLockedValue { state in
            guard state.running[transfer] == nil, !state.ended.contains(task) else { return }
            state.running[transfer] = Running(task: task)
        }
    }

    /// Transfers a file, or joins what the system does already.
    ///
    /// - Parameters:
    ///   - transfer: What is transferred.
    ///   - progress: Told the bytes so far and of the whole file.
    ///   - begin: Begins the task, if there is none, and gives its number; its events may come before it returns.
    /// - Returns: How it has ended.
    /// - Throws: ``AttachmentTransferError`` with the code `inProgress` when another caller waits for it; `CancellationError`, after which the
    ///   system goes on; what `begin` throws.
    func transfer(
        _ transfer: BackgroundTransfer,
        progress: @escaping @Sendable (Int64, Int64?) -> Void,
        begin: @Sendable () async throws -> TaskID
    ) async throws -> BackgroundOutcome {
        let (begins, outcome) = try beginning(of: transfer)
        if let outcome { return outcome }
        if begins {
            do {
                let task = try await begin()
                state.withLockedValue { $0.running[transfer]?.task = task }
            } catch {
                state.withLockedValue { $0.running[transfer] = nil }
                throw error
            }
        }
        return try await wait(for: transfer, progress)
    }

    /// - Returns: Whether the caller begins the transfer, or its outcome when there is one already; neither when the caller joins it.
    private func beginning(of transfer: BackgroundTransfer) throws -> (begins: Bool, outcome: BackgroundOutcome?) {
        try state.withLockedValue { state in
            if let outcome = state.kept.removeValue(forKey: transfer) { return (false, outcome) }
            guard let running = state.running[transfer] else {
                state.running[transfer] = Running()
                return (true, nil)
            }
            guard running.caller == nil, running.task != nil else {
                throw AttachmentTransferError(
                    .inProgress,
                    message: "Another transfer of \(transfer.filename) is going on in the background"
                )
            }
            return (false, nil)
        }
    }

    private func wait(
        for transfer: BackgroundTransfer,
        _ progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws -> BackgroundOutcome {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (caller: CheckedContinuation<BackgroundOutcome, any Error>) in
                let outcome: Result<BackgroundOutcome, any Error>? = state.withLockedValue { state in
                    // The handler may have run already; it would not resume the continuation any more.
                    if let outcome = state.running[transfer]?.outcome {
                        state.end(transfer, outcome)
                        if Task.isCancelled { return .failure(CancellationError()) }
                        state.kept[transfer] = nil
                        return .success(outcome)
                    }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let outcome = state.kept.removeValue(forKey: transfer) { return .success(outcome) }
                    guard state.running[transfer] != nil else {
                        return .success(.failed(isTimeout: false, message: "it has ended while it was joined"))
                    }
                    state.running[transfer]?.caller = caller
                    state.running[transfer]?.progress = progress
                    return nil
                }
                if let outcome { caller.resume(with: outcome) } else { didBeginToWait() }
            }
        } onCancel: {
            let caller = state.withLockedValue { state in
                let caller = state.running[transfer]?.caller
                state.running[transfer]?.caller = nil
                state.running[transfer]?.progress = nil
                return caller
            }
            caller?.resume(throwing: CancellationError())
        }
    }

    // MARK: What the delegate is told

    /// A task has transferred some bytes.
    ///
    /// - Parameters:
    ///   - transfer: What it transfers.
    ///   - bytes: The bytes so far.
    ///   - total: Those of the whole file; not positive when that is not known.
    func progressed(_ transfer: BackgroundTransfer, bytes: Int64, of total: Int64) {
        let progress = state.withLockedValue { $0.running[transfer]?.progress }
        progress?(bytes, total > 0 ? total : nil)
    }

    /// A task has ended.
    func completed(_ task: TaskID, _ transfer: BackgroundTransfer, _ outcome: BackgroundOutcome) {
        let caller = state.withLockedValue { state -> CheckedContinuation<BackgroundOutcome, any Error>? in
            state.ended.insert(task)
            if let running = state.running[transfer] {
                guard let known = running.task else {
                    state.running[transfer]?.outcome = outcome
                    return nil
                }
                // That of another task of the same file says nothing.
                guard known == task else { return nil }
                if let caller = running.caller {
                    state.running[transfer] = nil
                    return caller
                }
            }
            state.end(transfer, outcome)
            return nil
        }
        caller?.resume(returning: outcome)
    }

    /// The system has begun the app for the events of the session.
    ///
    /// - Parameter completion: What it wants to be called when all of them have been told.
    func willReceiveEvents(_ completion: @escaping @Sendable () -> Void) {
        state.withLockedValue { $0.completion = completion }
    }

    /// All events of the session have been told.
    func didReceiveEvents() {
        let completion = state.withLockedValue { state in
            defer { state.completion = nil }
            return state.completion
        }
        completion?()
    }
}
