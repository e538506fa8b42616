import Logging
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What happens before the first line: also when another sync config becomes active at that very moment.
@Suite(.timeLimit(.minutes(1))) struct OpenedSyncStreamTests {
    private static let config = """
        config: {edition: 3}
        streams:
          g: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// What the storage was asked for.
    enum Question: CaseIterable {
        case activeStream, checksums
    }

    /// Lets something happen once, in the middle of a question.
    private struct InterruptedStorage: ForwardingStorage {
        let storage: SQLiteBucketStorage
        let question: Question
        let happens: @Sendable () async throws -> Void
        private let isDone = NIOLockedValueBox(false)

        init(
            _ storage: SQLiteBucketStorage,
            _ question: Question,
            _ happens: @escaping @Sendable () async throws -> Void
        ) {
            (self.storage, self.question, self.happens) = (storage, question, happens)
        }

        private func asked(_ question: Question) async throws {
            let isFirst = isDone.withLockedValue { isDone in
                guard question == self.question, !isDone else { return false }
                isDone = true
                return true
            }
            if isFirst { try await happens() }
        }

        func activeStream() async throws -> ActiveReplicationStream? {
            let active = try await storage.activeStream()
            try await asked(.activeStream)
            return active
        }

        func checksums(
            _ buckets: [BucketName],
            at checkpoint: StorageCheckpoint
        ) async throws -> [BucketName: BucketChecksum] {
            try await asked(.checksums)
            return try await storage.checksums(buckets, at: checkpoint)
        }
    }

    @Test(arguments: Question.allCases) func theClientGetsTheNewStream(after question: Question) async throws {
        try await SessionScenario.run(Self.config) { scenario in
            let storage = try #require(scenario.storage.storage as? SQLiteBucketStorage)
            var environment = scenario.environment
            environment.storage = InterruptedStorage(storage, question) {
                let other = Self.config + "\n# changed\n"
                let stream = try await storage.deploy(other, plan: try plan(other))
                var writer = try await storage.writer(of: stream.id)
                try await writer.setResumePosition(.at(0))
                try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
                _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
            }
            let opened = try await OpenedSyncStream(
                StreamingSyncRequest(),
                token: VerifiedToken(payload: ["sub": "u1"], expiresAt: .infinity),
                schedule: KeepaliveSchedule(expiresAt: .infinity),
                format: .ndjson,
                transport: .http,
                userAgent: "",
                environment: environment,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            #expect(String(buffer: opened.takeFirstLine()).contains(#""bucket":"2#g|0[]""#))
        }
    }

    @Test func aClientIsNotKeptWaitingForEver() async throws {
        let (clock, stopped) = (TestClock(), TestClock())
        try await SessionScenario.run(Self.config) { scenario in
            let storage = try #require(scenario.storage.storage as? SQLiteBucketStorage)
            var environment = scenario.environment
            environment.timing = clock.timing
            environment.storage = InterruptedStorage(storage, .checksums) { try await stopped.sleep(for: .seconds(1)) }
            let timed = environment
            let opened = Task {
                try await OpenedSyncStream(
                    StreamingSyncRequest(),
                    token: VerifiedToken(payload: ["sub": "u1"], expiresAt: .infinity),
                    schedule: KeepaliveSchedule(expiresAt: .infinity),
                    format: .ndjson,
                    transport: .http,
                    userAgent: "",
                    environment: timed,
                    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                )
            }
            try await clock.waitForTimer(of: OpenedSyncStream.firstLineLimit)
            clock.advance(by: OpenedSyncStream.firstLineLimit)
            await #expect(throws: OpenedSyncStream.TooSlow.self) { _ = try await opened.value }
        }
    }

    @Test func theParametersOfAClientAreLoggedByTheirTypes() async throws {
        try await SessionScenario.run(Self.config) { scenario in
            var request = StreamingSyncRequest()
            request.parameters = [
                "region": "eu-secret", "year": 1971, "share": 0.125, "active": true, "nothing": nil,
                "list": ["in-list"], "map": ["key": "in-map"],
            ]
            for transport in StreamTransport.allCases {
                let log = CollectedLog()
                let opened = try await OpenedSyncStream(
                    request,
                    token: VerifiedToken(payload: ["sub": "u1"], expiresAt: .infinity),
                    schedule: KeepaliveSchedule(expiresAt: .infinity),
                    format: .bson,
                    transport: transport,
                    userAgent: "",
                    environment: scenario.environment,
                    logger: log.logger
                )
                #expect(!opened.isOver)
                let started = try #require(log.lines.first { $0.contains("Sync stream started") })
                for (name, type) in [
                    ("region", "text"), ("year", "integer"), ("share", "real"), ("active", "boolean"),
                    ("nothing", "null"), ("list", "array"), ("map", "object"),
                ] {
                    #expect(
                        started.contains("\"\(name)\": \"\(type)\"") || started.contains("\"\(name)\": \(type)"),
                        "\(started)"
                    )
                }
                // Over WebSocket there is no route and no choice of the format.
                #expect(started.contains("bson=true") == (transport == .http))
                #expect(started.contains("route=/sync/stream") == (transport == .http))
                for value in ["eu-secret", "1971", "0.125", "in-list", "in-map"] {
                    #expect(log.lines.allSatisfy { !$0.contains(value) }, "\(value)")
                }
            }
        }
    }

    @Test func whatAClientSaysOfItselfDoesNotFloodTheLog() async throws {
        try await SessionScenario.run(Self.config) { scenario in
            let log = CollectedLog()
            let long = String(repeating: "x", count: 1 << 20)
            var request = StreamingSyncRequest()
            request.clientID = long
            request.appMetadata = [long: "name", "value": long, "two\nlines": "two\r\nlines"]
            for number in 0..<1000 { request.parameters["p\(number)"] = .string(long) }
            let opened = try await OpenedSyncStream(
                request,
                token: VerifiedToken(payload: ["sub": .string(long)], expiresAt: .infinity),
                schedule: KeepaliveSchedule(expiresAt: .infinity),
                format: .ndjson,
                transport: .http,
                userAgent: long,
                environment: scenario.environment,
                logger: log.logger
            )
            #expect(!opened.isOver)
            let started = try #require(log.lines.first { $0.contains("Sync stream started") })
            #expect(started.utf8.count < 2000)
            #expect(!started.contains { $0.isNewline })
            #expect(started.contains("two\u{FFFD}lines"))
        }
    }
}
