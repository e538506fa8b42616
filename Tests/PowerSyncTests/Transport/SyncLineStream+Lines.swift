import PowerSyncProtocol

@testable import PowerSyncClient

extension SyncLineStream {
    /// The next lines, without answers to keepalives.
    nonisolated(nonsending) func nextLines() async throws -> [ReceivedLine]? {
        while let element = try await next() {
            if case .lines(let lines) = element { return lines }
        }
        return nil
    }
}
