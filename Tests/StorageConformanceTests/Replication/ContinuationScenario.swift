import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// A model of a source with two tables, `items` and `notes`, and a service in which one config takes the place of another one.
struct ContinuationScenario: Sendable {
    let home: any StorageHome
    let model: ModelSource
    let source: CountingSource
    let storage: any BucketStorage
    let deployer: SyncConfigDeployer
    let log: CollectedLog
    /// Advances while replication is alive.
    private let progress = ChangeSignal()

    init(_ kind: TestedStorage) async throws {
        home = try kind.home()
        storage = try await home.open()
        log = CollectedLog()
        model = ModelSource()
        source = CountingSource(model)
        deployer = SyncConfigDeployer(storage: storage, logger: log.logger)
        for table in ["items", "notes"] {
            model.alter(.create(table, columns: ["id", "owner", "body"]))
            model.write(
                (0..<8).map { number in
                    .insert(table, id: "\(table)\(number)", ["owner": .text("u\(number % 2)"), "body": "old"])
                }
            )
        }
    }

    private init(_ other: ContinuationScenario, storage: any BucketStorage) {
        home = other.home
        model = other.model
        source = other.source
        self.storage = storage
        deployer = SyncConfigDeployer(storage: storage, logger: other.log.logger)
        log = other.log
    }

    /// The scenario for the next process, which opens the storage again.
    func reopened() async throws -> ContinuationScenario {
        try storage.close()
        return ContinuationScenario(self, storage: try await home.open())
    }

    /// A config of streams with a query each.
    static func config(_ streams: (name: String, query: String)..., options: String = "") -> String {
        var lines = ["config: {edition: 3\(options)}", "streams:"]
        for stream in streams {
            lines += ["  \(stream.name):", "    auto_subscribe: true", "    query: \(stream.query)"]
        }
        return lines.joined(separator: "\n")
    }

    static let all = "SELECT * FROM items"
    static let ofOwner = "SELECT * FROM items WHERE owner = auth.user_id()"
    static let notes = "SELECT * FROM notes"
    static let bodies = "SELECT id, body FROM notes"

    /// Replicates while `body` runs, as one life of a service.
    func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            logger: log.logger,
            touch: { progress.advance() }
        )
        try await replicator.whileRunning(body)
    }

    /// Replicates while `body` runs, as a process that dies.
    ///
    /// - Parameters:
    ///   - count: How many calls of writers it makes before.
    ///   - body: Ends when the process has come to its end alive.
    /// - Returns: Whether it has died.
    /// - Throws: What `body` throws.
    func replicating(
        dyingAfter count: Int,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
        try await Self.replicate(storage, of: self, dyingAfter: count, body)
    }

    private static func replicate<Storage: BucketStorage>(
        _ storage: Storage,
        of scenario: ContinuationScenario,
        dyingAfter count: Int,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Bool {
        let life = DyingStorage<Storage>.Life(calls: count)
        let replicator = Replicator(
            storage: DyingStorage(storage: storage, life: life),
            source: scenario.source,
            streamsChanged: scenario.deployer.streamsChanged,
            logger: scenario.log.logger,
            touch: { scenario.progress.advance() }
        )
        return try await replicator.whileRunning {
            try await firstOf {
                try await life.end()
                return true
            } or: {
                try await body()
                return false
            }
        }
    }

    /// Waits until clients are served a text at a checkpoint with everything that is committed now.
    @discardableResult
    func served(_ content: String) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        let head = model.content.head
        try await model.emitMarker()
        while true {
            let seen = progress.version
            if let current = storage.feed.current, current.lsn >= head.lsn,
                let active = try await storage.activeStream(),
                let stream = try await storage.streams().first(where: { $0.id == active.id }),
                stream.content == content, active.checkpoint.configNumber == stream.configNumber,
                active.checkpoint.lsn >= head.lsn
            {
                return (stream, active.checkpoint)
            }
            try await progress.wait(after: seen)
        }
    }

    /// Waits until clients are served everything that is committed now, rows of which columns have changed with their values.
    func readAgain(_ content: String) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        try await served(content) { !$0.contains(where: \.isOutdated) }
    }

    /// Waits until it is stored how far a table has been read beside the change stream.
    func untilFillIsStored() async throws {
        while true {
            let seen = progress.version
            for stream in try await storage.streams() {
                if try await storage.progress(of: stream.id).tables.contains(where: { $0.fill != nil }) { return }
            }
            try await progress.wait(after: seen)
        }
    }

    /// Waits until the stream has no record of a table any more, and clients are served what that has given.
    func servedWithout(
        _ table: String,
        _ content: String
    ) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        try await served(content) { !$0.contains { $0.descriptor.name.name == table } }
    }

    /// Waits until the records of tables are as wanted, and clients are served everything that is committed then.
    private func served(
        _ content: String,
        when areAsWanted: ([SourceTable]) -> Bool
    ) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        let stream = try await served(content).stream
        while true {
            let seen = progress.version
            let tables = try await storage.progress(of: stream.id).tables
            if areAsWanted(tables) { return try await served(content) }
            try await progress.wait(after: seen)
        }
    }

    /// Deploys a text, and waits until clients are served it.
    @discardableResult
    func deployAndServe(_ content: String) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        try await deployer.deploy(content)
        return try await served(content)
    }

    /// The names of the buckets of a user with all streams, without their prefix.
    func buckets(
        of user: String,
        _ stream: ReplicationStream,
        at checkpoint: StorageCheckpoint
    ) async throws -> [String] {
        try await storage.buckets(of: user, stream, at: checkpoint)
    }

    /// The number of operations of a bucket.
    func count(_ bucket: String, _ stream: ReplicationStream, at checkpoint: StorageCheckpoint) async throws -> Int {
        try await storage.allOperations(bucket, of: stream, at: checkpoint).count
    }

    /// What clients have at a checkpoint is what the source had at its position: for each bucket of the plan that has rows.
    func expectState(_ stream: ReplicationStream, at checkpoint: StorageCheckpoint) async throws {
        var expected: [String: [String]] = [:]
        for table in ["items", "notes"] {
            let rows = try #require(model.rows(of: table, at: checkpoint.lsn))
            let name = SourceTableName(schema: "main", name: table)
            for row in rows.flatMap({ stream.plan.evaluate($0, of: name, bucketPrefix: stream.bucketPrefix) }) {
                expected[row.bucket.rawValue, default: []].append(row.data)
            }
        }
        for (bucket, rows) in expected {
            let name = String(bucket.dropFirst(stream.bucketPrefix.count))
            let found = try await storage.allOperations(name, of: stream, at: checkpoint)
            #expect(
                reduceByIdentity(found).values.compactMap(\.data).sorted() == rows.sorted(),
                "bucket \(bucket) at \(checkpoint)"
            )
        }
    }
}

/// A source that counts how often a table is read from its beginning, and whose readers of a table wait while it is held.
final class CountingSource: ForwardingSource {
    private struct State {
        var reads: [String: Int] = [:]
        /// A table, and how many of its rows are still read.
        var held: (table: String, rows: Int)?
    }

    let source: ModelSource
    private let state = NIOLockedValueBox(State())
    private let released = ChangeSignal()
    private let waits = ChangeSignal()
    private let ends = ChangeSignal()

    init(_ source: ModelSource) { self.source = source }

    /// How often a table was read.
    func count(_ table: String) -> Int { state.withLockedValue { $0.reads[table, default: 0] } }

    /// From now on, nothing of a table is read any more once so many rows have been.
    func hold(_ table: String, afterRows count: Int) { state.withLockedValue { $0.held = (table, count) } }

    /// Reading goes on.
    func release() {
        state.withLockedValue { $0.held = nil }
        released.advance()
    }

    /// Does something, and waits until a reader waits that did not before.
    func untilHeld(_ body: () async throws -> Void) async throws {
        let seen = waits.version
        try await body()
        try await waits.wait(after: seen)
    }

    /// Does something, and waits until a reader is cancelled while it waits.
    func untilCancelled(_ body: () async throws -> Void) async throws {
        let seen = ends.version
        try await body()
        try await ends.wait(after: seen)
    }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        if key == nil { state.withLockedValue { $0.reads[table.name.name, default: 0] += 1 } }
        return Pages(source: self, table: table.name.name, pages: try await source.snapshot(of: table, after: key))
    }

    private struct Pages: SnapshotReader {
        let source: CountingSource
        let table: String
        var pages: any SnapshotReader

        mutating func next() async throws -> SnapshotChunk? {
            while true {
                let seen = source.released.version
                let isHeld = source.state.withLockedValue { $0.held.map { $0.table == table && $0.rows <= 0 } ?? false }
                guard isHeld else {
                    let page = try await pages.next()
                    source.state.withLockedValue { state in
                        if state.held?.table == table { state.held?.rows -= page?.rows.count ?? 0 }
                    }
                    return page
                }
                source.waits.advance()
                do {
                    try await source.released.wait(after: seen)
                } catch {
                    source.ends.advance()
                    throw error
                }
            }
        }
    }
}
