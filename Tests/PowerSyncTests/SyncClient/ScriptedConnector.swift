import NIOConcurrencyHelpers
import PowerSyncTesting

@testable import PowerSyncClient

/// A back end that does what a test says.
final class ScriptedConnector: PowerSyncBackendConnectorProtocol {
    typealias Fetch = @Sendable (_ call: Int) async throws -> PowerSyncCredentials?
    typealias Upload = @Sendable (_ database: any PowerSyncDatabaseProtocol, _ call: Int) async throws -> Void

    private struct State {
        var fetch: Fetch = { PowerSyncCredentials(endpoint: "https://sync.test", token: "token \($0)") }
        var upload: Upload = { database, _ in
            while let transaction = try await database.getNextCrudTransaction() {
                try await transaction.complete()
            }
        }
        var fetches = 0
        var uploads = 0
    }

    private let state = NIOLockedValueBox(State())
    private let changes = Signal()
    /// Opens when nothing holds this connector any more.
    let released = TaskGate()

    deinit { released.open() }

    /// How often `fetchCredentials` was called.
    var fetches: Int { state.withLockedValue { $0.fetches } }
    /// How often `uploadData` was called.
    var uploads: Int { state.withLockedValue { $0.uploads } }

    /// Says what `fetchCredentials` does; calls count from 1.
    func onFetch(_ fetch: @escaping Fetch) {
        state.withLockedValue { $0.fetch = fetch }
    }

    /// Says what `uploadData` does; calls count from 1.
    func onUpload(_ upload: @escaping Upload) {
        state.withLockedValue { $0.upload = upload }
    }

    /// Waits until `fetchCredentials` was called this often.
    func waitForFetches(_ count: Int) async throws {
        try await changes.wait { fetches >= count ? () : nil }
    }

    /// Waits until `uploadData` was called this often.
    func waitForUploads(_ count: Int) async throws {
        try await changes.wait { uploads >= count ? () : nil }
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let (fetch, call) = state.withLockedValue { state in
            state.fetches += 1
            return (state.fetch, state.fetches)
        }
        changes.fire()
        return try await fetch(call)
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        let (upload, call) = state.withLockedValue { state in
            state.uploads += 1
            return (state.upload, state.uploads)
        }
        changes.fire()
        try await upload(database, call)
    }
}

/// Something that a test makes happen.
struct ScriptedError: Error, Equatable {
    var name = "scripted"
}
