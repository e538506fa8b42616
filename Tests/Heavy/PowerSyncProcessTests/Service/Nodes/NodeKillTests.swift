import Foundation
import Testing

/// Nodes and servers that are killed, stopped, frozen and started in any order while the source changes, clients write, and move
/// from node to node.
///
/// `POWERSYNC_KILLS` says how many lives there are, each of which ends with a comparison; 12 by default.
@Suite(.serialized, .timeLimit(.minutes(60))) struct NodeKillTests {
    /// So many times, the service is made anew, so that there are kills during the first copy, too.
    private static let livesOfAService = 4
    private static let seeds: ClosedRange<UInt64> = {
        let lives = ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init) ?? 12
        return 1...UInt64(max(lives / livesOfAService, 1))
    }()

    @Test(arguments: seeds)
    func contentEqualsTheSourceAndNoClientGoesBack(seed: UInt64) async throws {
        let model = try NodeModel(seed: seed)
        for life in 1...Self.livesOfAService {
            do {
                try await model.live()
                try await model.converge("seed \(seed), life \(life)")
            } catch {
                throw BrokenLife(error: error, story: model.story, logs: model.endOfLogs)
            }
        }
        try await model.end()
    }

    /// An error in the middle of a life.
    private struct BrokenLife: Error {
        let error: any Error
        let story: [String]
        /// Of the servers.
        let logs: [Substring]
    }
}
