import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a transfer does with its task.
protocol TransferTask: Sendable {
    func resume()
    func suspend()
    func cancel()
}

extension URLSessionTask: TransferTask {}

/// A request under way: its task, and what has arrived.
final class Transfer: Sendable {
    private typealias Machine = StateMachine<
        HTTPURLResponse, CheckedContinuation<HTTPURLResponse, any Error>, CheckedContinuation<ByteBuffer?, any Error>
    >

    private let task: any TransferTask
    private let file: HTTPExchangeFile?
    private let machine: NIOLockedValueBox<Machine>

    init(_ task: any TransferTask, of request: HTTPExchangeRequest, pausing: ResponsePausing) {
        self.task = task
        file = if case .file(let file) = request.body { file } else { nil }
        machine = NIOLockedValueBox(Machine(pausing: pausing))
    }

    /// Starts the task and waits for the head of the answer.
    ///
    /// - Throws: ``HTTPExchangeError``, or `CancellationError`.
    func head() async throws -> HTTPURLResponse {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                perform(machine.withLockedValue { $0.headAsked(waiter) })
            }
        } onCancel: {
            cancel()
        }
    }

    /// Waits for bytes of the body; `nil` at its end.
    ///
    /// - Throws: ``HTTPExchangeError``, or `CancellationError`.
    nonisolated(nonsending) func chunk() async throws -> ByteBuffer? {
        let chunk = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                perform(machine.withLockedValue { $0.chunkAsked(waiter) })
            }
        } onCancel: {
            cancel()
        }
        // A cancelled transfer ends like a finished one.
        if chunk == nil { try Task.checkCancellation() }
        return chunk
    }

    /// Ends the task if it has not ended.
    func cancel() {
        perform(machine.withLockedValue { $0.cancelled() })
    }

    func received(_ head: HTTPURLResponse) {
        perform(machine.withLockedValue { $0.received(head) })
    }

    func received(_ data: Data) {
        let chunk = ByteBuffer(bytes: data)
        perform(machine.withLockedValue { $0.received(chunk) })
    }

    func sent(_ bytes: Int64) {
        file?.progress(bytes)
    }

    func completed(_ error: (any Error)?) {
        let error = error.map { HTTPExchangeError($0) }
        perform(machine.withLockedValue { $0.completed(error) })
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .none: break
        case .start: task.resume()
        case .suspend:
            task.suspend()
            perform(machine.withLockedValue { $0.suspended() })
        case .resume: task.resume()
        case .head(let waiter, let head): waiter.resume(returning: head)
        case .chunk(let waiter, let chunk): waiter.resume(returning: chunk)
        case .chunkAndResume(let waiter, let chunk):
            task.resume()
            waiter.resume(returning: chunk)
        case .cancel(let head, let chunk):
            task.cancel()
            head?.resume(throwing: CancellationError())
            chunk?.resume(throwing: CancellationError())
        case .failHead(let waiter, let error): waiter.resume(throwing: error ?? HTTPExchangeError(.connection))
        case .failChunk(let waiter, let error): waiter.resume(throwing: error)
        }
    }
}

/// The body of a transfer; a reader that drops it wants no more.
final class TransferBody: HTTPExchangeBody {
    private let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    deinit {
        transfer.cancel()
    }

    nonisolated(nonsending) func next() async throws -> ByteBuffer? {
        try await transfer.chunk()
    }
}

extension HTTPExchangeError {
    /// What an error of a session means.
    init(_ error: any Error) {
        let code: Code =
            switch (error as? URLError)?.code {
            case .timedOut: .timeout
            // Unknown to swift-corelibs-foundation is every way in which a body may end too soon.
            case .networkConnectionLost, .unknown: .closedEarly
            case .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
                .serverCertificateUntrusted:
                .untrustedCertificate
            default: .connection
            }
        self.init(code, underlyingError: SessionError(error))
    }
}

/// What a session says of an error, without the URL: its query may hold a signature.
private struct SessionError: Error, CustomStringConvertible {
    private let text: String
    private let code: Int

    init(_ error: any Error) {
        let error = error as NSError
        text = error.userInfo[NSLocalizedDescriptionKey] as? String ?? error.domain
        code = error.code
    }

    var description: String { "\(text) (\(code))" }
}
