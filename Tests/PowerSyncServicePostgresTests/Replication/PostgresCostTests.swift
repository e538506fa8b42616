import NIOConcurrencyHelpers
import NIOCore
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// What things cost that happen to two tables of a thousand rows: the example of the page *What costs what*.
@Suite(.timeLimit(.minutes(2))) struct PostgresCostTests {
    /// What something has cost.
    struct Cost {
        /// The rows that were read from tables.
        var rows: Int
        var operations: Int
        /// What a client gets that has everything, in kilobytes of NDJSON.
        var kilobytes: Int

        /// Whether it is as the page says: numbers of operations and checksums have more digits or fewer.
        func isLike(_ other: Cost) -> Bool {
            rows == other.rows && operations == other.operations
                && abs(kilobytes - other.kilobytes) <= other.kilobytes / 20
        }
    }

    /// A row has about 200 bytes.
    private static let schema = ["lists", "items"].map { table in
        """
        CREATE TABLE \(table) (id uuid PRIMARY KEY, name text, body text, seen int DEFAULT 0);
        INSERT INTO \(table)
        SELECT md5('\(table)' || n)::uuid, 'name ' || n, left(repeat(md5(n::text), 5), 132) FROM generate_series(1, 1000) AS n
        """
    }.joined(separator: ";")

    private static func config(lists: String = "lists", _ columns: String = "id, name, body") -> String {
        """
        config: {edition: 3}
        streams:
          \(lists): {auto_subscribe: true, query: "SELECT \(columns) FROM lists"}
          items: {auto_subscribe: true, query: SELECT * FROM items}
        """
    }

    /// Something that happens, in the words of the page, and what it costs.
    private static let actions: [(name: String, action: Action, cost: Cost)] = [
        ("`UPDATE` of a column that no stream reads", .run("UPDATE lists SET seen = seen + 1"), none),
        ("`UPDATE` that sets what is there", .run("UPDATE items SET name = name"), none),
        ("`UPDATE` of a column that a stream reads", .run("UPDATE lists SET name = name || '.'"), puts),
        ("`REPLICA IDENTITY FULL`", .run("ALTER TABLE lists REPLICA IDENTITY FULL"), none),
        ("a column that no stream reads", .run("ALTER TABLE lists ADD COLUMN other text DEFAULT 'x'"), none),
        (
            "a column under `SELECT *`", .run("ALTER TABLE items ADD COLUMN other text DEFAULT 'x'"),
            Cost(rows: 1_000, operations: 1_000, kilobytes: 440)
        ),
        ("`VACUUM FULL`", .run("VACUUM FULL lists"), Cost(rows: 1_000, operations: 2_000, kilobytes: 620)),
        ("a stream has another name", .deploy(config(lists: "all_lists")), none),
        (
            "a stream of two has other columns", .deploy(config(lists: "all_lists", "id, name")),
            Cost(rows: 1_000, operations: 1_000, kilobytes: 270)
        ),
    ]
    private static let none = Cost(rows: 0, operations: 0, kilobytes: 0)
    private static let puts = Cost(rows: 0, operations: 1_000, kilobytes: 420)

    private enum Action: Sendable {
        case run(String)
        case deploy(String)
    }

    /// A source that counts the rows that are read from its tables.
    private final class CountingSource: ForwardingSource {
        let source: PostgresSource
        let rows = NIOLockedValueBox(0)

        init(_ source: PostgresSource) { self.source = source }

        func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
            Pages(reader: try await source.snapshot(of: table, after: key), rows: rows)
        }

        private struct Pages: SnapshotReader {
            var reader: any SnapshotReader
            let rows: NIOLockedValueBox<Int>

            mutating func next() async throws -> SnapshotChunk? {
                let chunk = try await reader.next()
                rows.withLockedValue { $0 += chunk?.rows.count ?? 0 }
                return chunk
            }
        }
    }

    @Test func onlyWhatHasChangedCosts() async throws {
        let scenario = try PostgresScenario(Self.schema, catalogueInterval: .milliseconds(30))
        let source = CountingSource(scenario.source)
        let deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        let replicator = Replicator(
            storage: scenario.storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            logger: scenario.log.logger
        )
        try await deployer.deploy(Self.config())
        try await replicator.whileRunning {
            var config = Self.config()
            var client = Client()
            func settle() async throws -> Cost {
                // Changes of tables that no row tells are noticed with the next look but one.
                try await scenario.served(config)
                for _ in 0..<2 {
                    let seen = scenario.source.catalogueLooks.version
                    try await scenario.source.catalogueLooks.wait(after: seen)
                }
                while try await scenario.storage.streams().contains(where: { $0.state == .processing }) {
                    try await scenario.served(config)
                }
                while true {
                    let seen = scenario.storage.feed.signal.version
                    let stream = try await scenario.served(config)
                    if try await !scenario.storage.progress(of: stream.id).tables.contains(where: \.isOutdated) {
                        break
                    }
                    try await scenario.storage.feed.signal.wait(after: seen)
                }
                let stream = try await scenario.served(config)
                let (operations, bytes) = try await client.download(stream, from: scenario.storage)
                let rows = source.rows.withLockedValue { rows in
                    defer { rows = 0 }
                    return rows
                }
                return Cost(rows: rows, operations: operations, kilobytes: (bytes + 500) / 1_000)
            }
            let first = try await settle()
            #expect(first.isLike(Cost(rows: 2_000, operations: 2_000, kilobytes: 840)), "\(first)")
            for (name, action, cost) in Self.actions {
                switch action {
                case .run(let sql): try scenario.database.run(sql)
                case .deploy(let text):
                    config = text
                    try await deployer.deploy(text)
                }
                let found = try await settle()
                #expect(found.isLike(cost), "\(name): \(found)")
            }
        }
    }

    /// A client that has downloaded everything up to where it was.
    private struct Client {
        private var positions: [BucketName: OpID] = [:]

        /// Downloads the rest.
        mutating func download(
            _ stream: ReplicationStream,
            from storage: SQLiteBucketStorage
        ) async throws -> (operations: Int, bytes: Int) {
            let checkpoint = try #require(storage.feed.current)
            var (operations, bytes) = (0, 0)
            for bucket in try await storage.buckets(of: "u1", stream, at: checkpoint) {
                let name = BucketName(stream.bucketPrefix + bucket)
                var hasMore = true
                while hasMore {
                    let position = StreamingSyncRequest.BucketPosition(name: name, after: positions[name] ?? .zero)
                    let chunks = try await storage.bucketData([position], at: checkpoint, limits: BucketDataLimits())
                    for chunk in chunks where !chunk.line.operations.isEmpty {
                        var line = ByteBuffer()
                        SyncLine.data(chunk.line).encode(as: .ndjson, into: &line)
                        bytes += line.readableBytes
                        operations += chunk.line.operations.count
                    }
                    for chunk in chunks { positions[name] = chunk.line.nextAfter ?? positions[name] }
                    hasMore = chunks.last?.line.hasMore ?? false
                }
            }
            return (operations, bytes)
        }
    }
}
