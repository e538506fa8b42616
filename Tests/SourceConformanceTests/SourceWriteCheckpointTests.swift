import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Rows of each source tell write checkpoints (docs/service.md "Events"): never before what is committed with them, nor later.
@Suite(.timeLimit(.minutes(2))) struct SourceWriteCheckpointTests {
    /// The rows of `items` tell `id` as user, `name` as client and `body` as number, where they have a name.
    private static func config(_ schema: String) -> String {
        """
        config: {edition: 3}
        streams:
          all:
            auto_subscribe: true
            query: SELECT id, body FROM "\(schema)".items
        event_definitions:
          write_checkpoints:
            payloads:
              - SELECT id AS user_id, name AS client_id, CAST(body AS INTEGER) AS checkpoint FROM "\(schema)".items WHERE name IS NOT NULL
        """
    }

    /// The number of a client at a checkpoint, and the last row `r<number>`.
    private static func state(
        _ storage: any BucketStorage,
        at checkpoint: StorageCheckpoint
    ) async throws -> (number: Int64?, row: Int64?) {
        let active = try #require(try await storage.activeStream())
        let lookups = active.plan.writeCheckpointLookups(userID: "u", clientID: "c")
        let number = try await storage.writeCheckpoint(lookups, at: checkpoint)?.rawValue
        let stream = try #require(try await storage.streams().first { $0.id == active.id })
        let rows = reduce(try await storage.allOperations("all|0[]", of: stream, at: checkpoint))
        let numbers = rows.keys.compactMap { key in
            key.split(separator: "/").last.flatMap { $0.hasPrefix("r") ? Int64($0.dropFirst()) : nil }
        }
        return (number, numbers.max())
    }

    @Test(arguments: SourceKind.allCases)
    func aNumberComesWithTheRowsOfItsTransactionAndStays(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        let schema = try #require(try await tested.source.tables(for: tested.plan).first).name.schema
        let home = try TestedStorage.sqlite.home()
        let storage = try await home.open()
        let config = Self.config(schema)
        try await tested.write(
            .insert("items", id: "u", ["name": "c", "body": "1"]),
            .insert("items", id: "r1", ["name": .null, "body": "x"])
        )
        _ = try await storage.deploy(config, plan: try plan(config))
        let progress = ChangeSignal()
        let replicator = Replicator(
            storage: storage,
            source: tested.source,
            streamsChanged: ChangeSignal(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            touch: { progress.advance() }
        )
        try await replicator.whileRunning {
            var active: ActiveReplicationStream?
            while active == nil {
                let seen = progress.version
                active = try await storage.activeStream()
                if active == nil { try await progress.wait(after: seen) }
            }
            let stream = try #require(active)
            async let written: Void = {
                for number in 2...12 {
                    try await tested.write(
                        .update("items", id: "u", ["body": .text("\(number)")]),
                        .insert("items", id: "r\(number)", ["name": .null, "body": "x"])
                    )
                }
                try await tested.source.emitMarker()
            }()
            for try await checkpoint in storage.checkpoints(of: stream) {
                let (number, row) = try await Self.state(storage, at: checkpoint)
                if row == 13 {
                    #expect(number == 12)
                    break
                }
                #expect(number == row, "at \(checkpoint)")
                guard row == 12 else { continue }
                // What was told stays. The embedded source reads rows as they are: it would not tell what is deleted at once.
                try await tested.write(
                    .delete("items", id: "u"),
                    .insert("items", id: "r13", ["name": .null, "body": "x"])
                )
                try await tested.source.emitMarker()
            }
            try await written
        }
        try storage.close()
    }
}
