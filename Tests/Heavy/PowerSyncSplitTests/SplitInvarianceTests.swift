import Foundation
import GRDB
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// How events are divided into transactions and processes, and whether a download is a bulk load, changes nothing.
///
/// Each seed is one random transcript, which is played one event a transaction and then in another way.
/// `POWERSYNC_SPLITS` says how many seeds are tried; 800 by default. `POWERSYNC_SPLIT_SEED` names one to be tried alone.
@Suite struct SplitInvarianceTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["POWERSYNC_SPLITS"].flatMap(UInt64.init) ?? 800
    private static let seed = environment["POWERSYNC_SPLIT_SEED"].flatMap(UInt64.init)

    @Test
    func anySplitOfATranscriptIntoTransactionsAndProcessesEndsInTheSameState() async throws {
        let seeds = Self.seed.map { $0...$0 } ?? 1...Self.count
        let workers = min(UInt64(ProcessInfo.processInfo.activeProcessorCount), 8)
        let failures = try await withThrowingTaskGroup(of: Failure?.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    try Self.firstFailure(
                        among: stride(from: seeds.lowerBound + worker, through: seeds.upperBound, by: Int(workers))
                    )
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        guard let failure = failures.compactMap(\.self).min(by: { $0.seed < $1.seed }) else { return }
        Issue.record("\(failure.description)\nTry it alone with POWERSYNC_SPLIT_SEED=\(failure.seed)")
    }

    private struct Failure {
        let seed: UInt64
        let description: String
    }

    private static func firstFailure(among seeds: some Sequence<UInt64>) throws -> Failure? {
        let player = try SplitPlayer()
        for seed in seeds {
            guard let description = try player.failure(ofSeed: seed) else { continue }
            return Failure(seed: seed, description: description)
        }
        return nil
    }
}
