import Foundation
import Hummingbird
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import PowerSyncTesting
import PowerSyncUpload
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What is wrong with replication, when several streams are replicated.
@Suite(.timeLimit(.minutes(1))) struct ReplicationFailuresTests {
    private struct Hiccup: Error, CustomStringConvertible {
        var description: String
    }

    private static let first = ReplicationStreamID(rawValue: 1)
    private static let second = ReplicationStreamID(rawValue: 2)
    private static let sourceError = ReplicationSourceError(.unavailable, "no source")

    @Test func theErrorOfAStreamCountsUntilThatStreamSucceeds() {
        var failures = ReplicationFailures()
        func record(_ message: String?, of stream: ReplicationStreamID?, at time: Double) {
            let date = Date(timeIntervalSince1970: time)
            failures.record(message.map { .failed(Hiccup(description: $0)) } ?? .ended, of: stream, at: date)
        }
        #expect(failures.newest?.finding.message == nil)
        record("one", of: Self.first, at: 1)
        record("two", of: Self.second, at: 2)
        #expect(failures.newest?.finding.message == "two")
        record("all", of: nil, at: 3)
        #expect(failures.newest?.finding.message == "all")
        record(nil, of: nil, at: 4)
        record(nil, of: Self.first, at: 5)
        #expect(failures.newest?.finding.message == "two")
        #expect(failures.newest?.date == Date(timeIntervalSince1970: 2))
        // The wall clock was set back.
        record("one", of: Self.first, at: 1)
        #expect(failures.newest?.finding.message == "one")
        record(nil, of: Self.second, at: 6)
        #expect(failures.newest?.finding.message == "one")
        record(nil, of: Self.first, at: 7)
        #expect(failures.newest?.finding.message == nil)
    }

    @Test func theStorageIsToBlameUntilTheStreamSucceeds() {
        var failures = ReplicationFailures()
        let now = Date(timeIntervalSince1970: 0)
        for error in [Self.sourceError, BucketStorageError(.inUse, ""), BucketStorageError(.leaseLost, "")]
            as [any Error]
        {
            failures.record(.failed(error), of: Self.first, at: now)
            #expect(!failures.includeStorage, "\(error)")
        }
        failures.record(.failed(Hiccup(description: "full")), of: Self.first, at: now)
        #expect(failures.includeStorage)
        // This does not say that it can be written.
        failures.record(.failed(Self.sourceError), of: Self.first, at: now)
        #expect(failures.includeStorage)
        // Nor does the end of another job.
        for _ in 0..<2 { failures.record(.ended, of: Self.second, at: now) }
        #expect(failures.includeStorage)
        failures.record(.ended, of: Self.first, at: now)
        #expect(!failures.includeStorage)
    }

    @Test func sinceWhenTheSourceFailsIsSaidAndTheProcessIsAsReady() {
        let probes = Probes(Timing())
        probes.didStart()
        let time = NIOLockedValueBox(0.0)
        let signs = SignsOfLife(
            probes: probes,
            replicates: true,
            logger: CollectedLog().logger,
            now: { Date(timeIntervalSince1970: time.withLockedValue(\.self)) }
        )
        func since(_ report: ReplicationReport, of stream: ReplicationStreamID, at seconds: Double) -> String? {
            time.withLockedValue { $0 = seconds }
            signs.report(report, of: stream)
            #expect(probes.response(to: .readiness).status == .ok)
            return probes.body.text("source_fails_since")
        }
        #expect(since(.written, of: Self.first, at: 0) == nil)
        #expect(since(.failed(Self.sourceError), of: Self.first, at: 1) == "1970-01-01T00:00:01.000Z")
        #expect(since(.failed(Self.sourceError), of: Self.second, at: 2) == "1970-01-01T00:00:01.000Z")
        #expect(since(.failed(Self.sourceError), of: Self.first, at: 3) == "1970-01-01T00:00:01.000Z")
        #expect(since(.written, of: Self.first, at: 4) == "1970-01-01T00:00:02.000Z")
        // Another process replicates it.
        #expect(since(.failed(BucketStorageError(.leaseLost, "")), of: Self.second, at: 5) == nil)
        #expect(since(.failed(Self.sourceError), of: Self.second, at: 6) == "1970-01-01T00:00:06.000Z")
        #expect(since(.ended, of: Self.second, at: 7) == nil)
    }

    @Test func oneOfTwoStreamsCannotBeWritten() {
        let log = CollectedLog()
        let probes = Probes(Timing())
        let signs = SignsOfLife(probes: probes, replicates: true, logger: log.logger)
        signs.report(.failed(Hiccup(description: "full")), of: Self.second)
        #expect(probes.problems == [.storage])
        for _ in 0..<3 {
            signs.report(.written, of: Self.first)
            signs.report(.failed(Hiccup(description: "full")), of: Self.second)
            #expect(probes.problems.isEmpty)
            #expect(signs.failure?.finding.message == "full")
        }
        // Now neither can be.
        signs.report(.failed(Hiccup(description: "full")), of: Self.first)
        #expect(probes.problems == [.storage])
        signs.report(.written, of: Self.first)
        signs.report(.written, of: Self.second)
        #expect(probes.problems.isEmpty)
        #expect(signs.failure == nil)
        #expect(log.lines.count { $0.contains("The bucket storage can be written again") } == 2)
    }

    // MARK: The replicator

    /// A source whose tables cannot be copied.
    private struct UncopyableSource: ForwardingSource {
        let source: EmbeddedSource

        func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
            throw Hiccup(description: "cannot be copied")
        }
    }

    @Test
    func theErrorOfAConfigThatCannotBeCopiedIsShownWhileTheOldOneIsReplicatedAndUntilItIsTakenBack() async throws {
        let scenario = try SourceScenario()
        try await scenario.replicate()
        let (storage, source) = (scenario.storage, scenario.source)
        let old = try #require(try await storage.activeStream()).id
        let new = try await storage.deploy(SourceScenario.listsByOwner, plan: try plan(SourceScenario.listsByOwner)).id
        let signs = SignsOfLife(probes: Probes(Timing()), replicates: true, logger: scenario.logger)
        let (failures, commits, reports, streamsChanged) = (
            ChangeSignal(), ChangeSignal(), ChangeSignal(), ChangeSignal()
        )
        let replicator = Replicator(
            storage: storage,
            source: UncopyableSource(source: source),
            streamsChanged: streamsChanged,
            // The next attempt never comes.
            clock: TestClock(),
            logger: scenario.logger,
            report: { report, stream in
                signs.report(report, of: stream)
                if report.error != nil, stream == new { failures.advance() }
                if case .written = report, stream == old { commits.advance() }
                reports.advance()
            }
        )
        try await replicator.whileRunning {
            try await failures.wait(after: 0)
            let seen = commits.version
            try await source.putLists(["a": ["owner": .string("u1")]])
            try await commits.wait(after: seen)
            #expect(signs.failure?.finding.message == "cannot be copied")

            _ = try await storage.deploy(SourceScenario.allLists, plan: try plan(SourceScenario.allLists))
            streamsChanged.advance()
            while true {
                let seen = reports.version
                if signs.failure == nil { return }
                try await reports.wait(after: seen)
            }
        }
    }
}
