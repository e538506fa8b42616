import PowerSync
package import PowerSyncClient

#if canImport(Glibc)
import Glibc
#endif

/// How a worker makes a seed.
package struct WorkerSeedMaking: Codable, Sendable {
    /// The URL of the service.
    package var endpoint: String
    /// The token of the user.
    package var token: String
    /// After which step the worker kills itself; `nil` for none.
    package var death: SeedMakingStep?

    /// Creates a making.
    package init(from endpoint: String, token: String, death: SeedMakingStep? = nil) {
        self.endpoint = endpoint
        self.token = token
        self.death = death
    }

    /// Makes the seed.
    func run(_ path: String) async throws {
        var maker = SeedMaker(endpoint: endpoint, token: token, output: path)
        maker.reached = { [death] step in
            guard step == death else { return }
            kill(getpid(), SIGKILL)
            // The signal may come to another thread first.
            while true { pause() }
        }
        _ = try await maker.run()
    }
}
