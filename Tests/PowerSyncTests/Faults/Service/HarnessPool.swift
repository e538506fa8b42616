import NIOConcurrencyHelpers
import PowerSyncTesting

@testable import PowerSyncClient

/// Clients that have been cleared, for suites with hundreds of cases: opening a database costs more than such a case.
///
/// A client whose case has thrown is not used again.
final class HarnessPool: Sendable {
    private let idle = NIOLockedValueBox<[SyncHarness]>([])

    /// Runs a case with a client that has no data and no connection.
    func withHarness(_ body: (SyncHarness) async throws -> Void) async throws {
        let harness = idle.withLockedValue { $0.popLast() } ?? SyncHarness()
        try await body(harness)
        try await harness.database.disconnectAndClear()
        harness.service.forgetRequests()
        idle.withLockedValue { $0.append(harness) }
    }
}
