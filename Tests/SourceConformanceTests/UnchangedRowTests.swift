import Logging
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Updates of what no stream reads, from each source into each storage that stays (*What costs what*).
@Suite(.timeLimit(.minutes(2))) struct UnchangedRowTests {
    private static func config(_ schema: String) -> String {
        """
        config: {edition: 3}
        streams:
          all:
            auto_subscribe: true
            query: SELECT id, name FROM "\(schema)".items
          own:
            auto_subscribe: true
            query: SELECT id, name FROM "\(schema)".items WHERE name IN (SELECT name FROM "\(schema)".items WHERE id = auth.user_id())
        """
    }

    /// A source and a storage, and the config.
    private struct Scenario: Sendable {
        var tested: TestedSource
        /// What is kept there goes with it.
        private let home: any StorageHome
        let storage: any BucketStorage
        let config: String

        init(_ kind: SourceKind, _ storage: TestedStorage) async throws {
            tested = try await TestedSource(kind)
            let schema = try #require(try await tested.source.tables(for: tested.plan).first).name.schema
            config = UnchangedRowTests.config(schema)
            home = try storage.home()
            self.storage = try await home.open()
            try await tested.write(
                (0..<20).map { .insert("items", id: "r\($0)", ["name": .text("n\($0)"), "body": "0"]) }
            )
            _ = try await self.storage.deploy(config, plan: try plan(config))
        }

        func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
            let replicator = Replicator(
                storage: storage,
                source: tested.source,
                streamsChanged: ChangeSignal(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            try await replicator.whileRunning(body)
        }

        /// A thousand updates of a column that no stream reads.
        func touchRows() async throws {
            for number in 1...50 {
                try await tested.write((0..<20).map { .update("items", id: "r\($0)", ["body": .text("\(number)")]) })
            }
        }

        /// Waits until clients are served what is committed now.
        func caughtUp() async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
            let head = try await tested.source.head(having: nil)
            try await tested.source.emitMarker()
            return try await storage.served(config, from: head.lsn)
        }
    }

    @Test(arguments: SourceKind.allCases, [TestedStorage.sqlite, .postgres])
    func aThousandUpdatesOfAnUnreadColumnStoreNothing(_ kind: SourceKind, _ storage: TestedStorage) async throws {
        let scenario = try await Scenario(kind, storage)
        try await scenario.replicating {
            let (stream, copied) = try await scenario.caughtUp()
            let before = try await scenario.storage.allOperations("all|0[]", of: stream, at: copied).count
            try await scenario.touchRows()
            let head = try await scenario.tested.source.head(having: nil)
            let number = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: head)
            let touched = try await scenario.caughtUp().checkpoint
            #expect(try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: touched) == number)
            // Operations and entries of lookups are counted by it: there is none, and the position is served.
            #expect(touched.opID == copied.opID)
            #expect(touched.lsn > copied.lsn)
            #expect(
                try await scenario.storage.changes(from: copied, to: touched) == .known(buckets: [], lookups: [])
            )
            try await scenario.tested.write(.update("items", id: "r7", ["name": "other"]))
            let changed = try await scenario.caughtUp().checkpoint
            let after = try await scenario.storage.allOperations("all|0[]", of: stream, at: changed)
            #expect(after.count == before + 1)
            #expect(after.last?.id == "r7")
        }
        try scenario.storage.close()
    }

    /// What was skipped since is gone, and rows are as they were, and change again.
    @Test(arguments: [SourceKind.model, .embedded, .postgres], [TestedStorage.sqlite, .postgres])
    func aSourceThatIsRestoredToBeforeSkippedUpdatesIsRight(_ kind: SourceKind, _ storage: TestedStorage) async throws {
        var scenario = try await Scenario(kind, storage)
        try await scenario.replicating { [scenario] in _ = try await scenario.caughtUp() }
        let backup = try await scenario.tested.backUp()
        try await scenario.replicating { [scenario] in
            try await scenario.touchRows()
            try await scenario.tested.write(.update("items", id: "r7", ["name": "lost"]))
            _ = try await scenario.caughtUp()
        }
        let lost = try #require(scenario.storage.feed.current).streamID
        scenario.tested = try await scenario.tested.restarted(with: backup)
        try await scenario.tested.write(.update("items", id: "r8", ["name": "after", "body": "x"]))
        try await scenario.replicating { [scenario] in
            let feed = scenario.storage.feed
            while true {
                let seen = feed.signal.version
                if let current = feed.current, current.streamID != lost { break }
                try await feed.signal.wait(after: seen)
            }
            let (stream, checkpoint) = try await scenario.caughtUp()
            let rows = reduce(try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint))
            let expected = (0..<20).map { number in
                ("items/r\(number)", #"{"id":"r\#(number)","name":"\#(number == 8 ? "after" : "n\(number)")"}"#)
            }
            #expect(rows == Dictionary(uniqueKeysWithValues: expected))
        }
        try scenario.storage.close()
    }
}
