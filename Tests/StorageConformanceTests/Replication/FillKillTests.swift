import Foundation
import GRDB
import PowerSyncServiceSQLite
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// Processes that are killed while they deploy: while they read tables beside the change stream for a config, or serve it
/// (docs/service.md "Deploying a sync config").
@Suite(.timeLimit(.minutes(10))) struct FillKillTests {
    /// A config of a stream that stays, and two whose queries are others than those of the other config.
    private static func queries(_ isFirst: Bool) -> [String] {
        [
            "SELECT * FROM items", isFirst ? "SELECT id, body FROM notes" : "SELECT * FROM notes",
            isFirst ? "SELECT id FROM items" : "SELECT id, owner FROM items",
        ]
    }

    private static func config(_ isFirst: Bool) -> String {
        let queries = queries(isFirst)
        return ContinuationScenario.config(("a", queries[0]), ("b", queries[1]), ("c", queries[2]))
    }

    /// When processes are killed, one after the other: at five moments, by a seed, or in soak at a hundred.
    private static var deaths: [DyingService.Death] {
        let isSoak = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] != nil
        var random = SeededGenerator(seed: 45)
        return (0..<(isSoak ? 100 : 5)).map { number in
            // Each call of a fill with these tables, and some that come after it, in which the process serves the config.
            DyingService.Death(
                call: isSoak ? number % 20 + 1 : 1 + random.number(below: 12),
                microseconds: number.isMultiple(of: 2) ? nil : random.number(below: 3_000)
            )
        }
    }

    /// Whatever was stored when it is killed, the next one goes on: clients have what the source has, for as few operations as if nothing
    /// had happened.
    @Test(arguments: TestedStorage.durable)
    func theNextOneGoesOnAfterAKill(_ kind: TestedStorage) async throws {
        let home = try kind.home()
        var isFirst = true
        try await Self.life(home) { source, storage in
            try await source.pool.write { db in
                for (table, number) in ["items", "notes"].flatMap({ table in (0..<8).map { (table, $0) } }) {
                    try db.execute(
                        sql: "INSERT INTO \(table) VALUES (?, ?, 'old')",
                        arguments: ["\(table)\(number)", "u\(number % 2)"]
                    )
                }
            }
            try await Self.deploy(Self.config(true), to: storage)
            try await Self.serve(Self.config(true), of: source, storage) { _, _ in }
        }
        // Of `a`: eight rows, and each change of one.
        var operations = 8
        for (step, death) in Self.deaths.enumerated() {
            isFirst.toggle()
            let (queries, config) = (Self.queries(isFirst), Self.config(isFirst))
            try await Self.life(home) { source, storage in
                try await Self.write("before \(step)", step % 8, to: source)
                #expect(try await Self.deploy(config, to: storage) == .started)
            }
            let service = DyingService(home, serving: config, until: death)
            await #expect(processExitsWith: .signal(SIGKILL), "\(death)") { [service = service as DyingService] in
                try await service.run()
            }
            operations += 2
            try await Self.life(home) { [operations] source, storage in
                try await Self.write("after \(step)", step % 8, to: source)
                #expect(try await Self.deploy(config, to: storage) == .unchanged, "\(death)")
                try await Self.serve(config, of: source, storage) { stream, checkpoint in
                    let rows = try await storage.rowTexts(of: "u0", stream, at: checkpoint)
                    let expected = try await source.pool.read { try $0.rowTexts(of: queries) }
                    #expect(rows == expected, "\(death)")
                    for bucket in try await storage.buckets(of: "u0", stream, at: checkpoint) {
                        let count = try await storage.allOperations(bucket, of: stream, at: checkpoint).count
                        // New parts have eight rows, one of which may have changed twice when it had been read.
                        #expect(count <= (bucket == "a|0[]" ? operations : 8 + 2), "\(death): \(bucket)")
                    }
                }
            }
        }
    }

    /// Opens the source and the storage, and closes them, so that another process can.
    private static func life(
        _ home: any StorageHome,
        _ body: (EmbeddedSource, any BucketStorage) async throws -> Void
    ) async throws {
        let source = try DyingService.source(in: home.folder.url.path)
        let storage = try await home.open()
        try await body(source, storage)
        try source.close()
        try storage.close()
    }

    @discardableResult
    private static func deploy(
        _ config: String,
        to storage: any BucketStorage
    ) async throws -> SyncConfigDeployer.Deployment.Outcome {
        try await SyncConfigDeployer(storage: storage, logger: CollectedLog().logger).deploy(config).outcome
    }

    /// Replicates until clients are served a config with all that is written, and then while `body` runs.
    private static func serve(
        _ config: String,
        of source: EmbeddedSource,
        _ storage: any BucketStorage,
        _ body: @escaping @Sendable (ReplicationStream, StorageCheckpoint) async throws -> Void
    ) async throws {
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: CollectedLog().logger
        )
        let head = try await source.head(having: nil)
        try await replicator.whileRunning {
            let (stream, checkpoint) = try await storage.served(config, from: head.lsn)
            try await body(stream, checkpoint)
        }
    }

    /// Changes a row of each table.
    private static func write(_ body: String, _ number: Int, to source: EmbeddedSource) async throws {
        try await source.pool.write { db in
            for table in ["items", "notes"] {
                try db.execute(
                    sql: "UPDATE \(table) SET body = ? WHERE id = ?",
                    arguments: [body, "\(table)\(number)"]
                )
            }
        }
    }
}
