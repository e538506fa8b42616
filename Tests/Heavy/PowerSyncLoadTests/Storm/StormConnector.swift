import NIOConcurrencyHelpers

@testable import PowerSyncClient

/// A backend that sometimes fails and sometimes disconnects in the middle of an upload.
final class StormConnector: PowerSyncBackendConnectorProtocol {
    private struct State {
        var calls = 0
        var running = 0
        var mostUploads = 0
        var uploads = 0
        var isCalm = false
    }

    /// What fails now and then.
    private struct Failure: Error {}

    private let state = NIOLockedValueBox(State())

    /// How many calls have not returned.
    var running: Int { state.withLockedValue { $0.running } }
    /// The most uploads that ran at the same time.
    var mostUploads: Int { state.withLockedValue { $0.mostUploads } }

    /// From now on everything works.
    func calmDown() {
        state.withLockedValue { $0.isCalm = true }
    }

    private func begin() -> Int {
        state.withLockedValue { state in
            state.running += 1
            state.calls += 1
            return state.isCalm ? 0 : state.calls
        }
    }

    private func end() {
        state.withLockedValue { $0.running -= 1 }
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let call = begin()
        defer { end() }
        await Task.yield()
        if call % 7 == 3 { throw Failure() }
        return call % 11 == 5 ? nil : PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        let call = begin()
        state.withLockedValue { state in
            state.uploads += 1
            state.mostUploads = max(state.mostUploads, state.uploads)
        }
        defer {
            state.withLockedValue { $0.uploads -= 1 }
            end()
        }
        await Task.yield()
        if call % 5 == 2 { throw Failure() }
        if call % 6 == 1 { try await database.disconnect() }
        try await database.getNextCrudTransaction()?.complete()
    }
}
