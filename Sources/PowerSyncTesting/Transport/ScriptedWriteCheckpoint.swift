import NIOConcurrencyHelpers
import PowerSync
import PowerSyncProtocol

/// One request for a write checkpoint to a ``ScriptedTransport``, or a checkpoint request, in the hands of the test.
public final class ScriptedWriteCheckpoint: Sendable {
    /// The client that asks.
    public let clientID: String
    /// The token that the client sent.
    public let token: String
    /// The number that the client gave to a checkpoint request; `nil` when the service is to give one.
    public let requestID: Int64?
    private let result = NIOLockedValueBox<Result<WriteCheckpoint, any Error>?>(nil)
    private let changes = Signal()

    init(clientID: String, requestID: Int64? = nil, credentials: ServiceCredentials) {
        self.requestID = requestID
        self.clientID = clientID
        token = credentials.token
    }

    /// Answers with a write checkpoint.
    public func respond(_ checkpoint: Int64) {
        answer(.success(WriteCheckpoint(checkpoint)))
    }

    /// Rejects the request.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: What the service says.
    public func reject(status: Int, body: String = "") {
        answer(
            .failure(
                SyncTransportError(
                    .status,
                    message: "\(target) failed with status \(status): \(body)",
                    httpStatus: status
                )
            )
        )
    }

    private var target: String {
        requestID == nil ? "GET /write-checkpoint2.json" : "POST /sync/checkpoint-request"
    }

    func answer() async throws -> WriteCheckpoint {
        try await changes.wait { result.withLockedValue { $0 } }.get()
    }

    private func answer(_ answer: Result<WriteCheckpoint, any Error>) {
        result.withLockedValue { $0 = answer }
        changes.fire()
    }
}
