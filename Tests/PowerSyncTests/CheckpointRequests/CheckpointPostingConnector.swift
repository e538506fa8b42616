import NIOConcurrencyHelpers

@testable import PowerSyncClient

/// A connector that posts checkpoint requests itself.
struct CheckpointPostingConnector: PowerSyncBackendConnectorProtocol, CustomCheckpointRequestConnector {
    private let connector: ScriptedConnector
    private let post: @Sendable (_ number: Int) async throws -> Void
    private let calls = Calls()

    private final class Calls: Sendable {
        private let count = NIOLockedValueBox(0)

        func next() -> Int {
            count.withLockedValue { count in
                count += 1
                return count
            }
        }
    }

    /// - Parameters:
    ///   - connector: Does everything else.
    ///   - post: What posting does; calls count from 1. The number that was to be posted is the answer.
    init(_ connector: ScriptedConnector, post: @escaping @Sendable (_ number: Int) async throws -> Void) {
        self.connector = connector
        self.post = post
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        try await connector.fetchCredentials()
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await connector.uploadData(database: database)
    }

    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
        try await post(calls.next())
        return checkpointRequestId
    }
}
