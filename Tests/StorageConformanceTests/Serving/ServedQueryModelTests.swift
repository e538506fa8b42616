import Foundation
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// After each commit, clients have what SQLite selects for the query of their stream, whatever was stored before.
///
/// Queries, rows and transactions are random. Between commits the storage is compacted, or opened again and written to from an
/// older position of the source. `POWERSYNC_ALL_CASES` tries 1,000 queries over each storage instead of 25.
@Suite(.timeLimit(.minutes(2))) struct ServedQueryModelTests {
    private static let portion: UInt64 = 25
    static let portions: [ClosedRange<UInt64>] = {
        let count: UInt64 = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] == nil ? portion : 1000
        return stride(from: 1, through: count, by: Int(portion)).map { $0...$0 + portion - 1 }
    }()

    @Test(arguments: [TestedStorage.sqlite, .sealed, .postgres], portions)
    func clientsHaveWhatSQLiteSelects(_ kind: TestedStorage, seeds: ClosedRange<UInt64>) async throws {
        var (checkCount, rowCount) = (0, 0)
        for seed in seeds {
            guard var served = try await ServedQuery(seed: seed, on: kind) else { continue }
            try await served.run()
            checkCount += served.checkCount
            rowCount += served.rowCount
        }
        #expect(checkCount > seeds.count * 5 && rowCount > checkCount / 2, "\(rowCount) rows in \(checkCount) checks")
    }
}

/// A random query, its storage and its source.
private struct ServedQuery {
    private static let clientID = "c"

    let seed: UInt64
    private var random: SeededGenerator
    private let query: RandomQuery
    private let model: QueryModel
    private var storage: StorageScenario
    private var tables: [String: SourceTable] = [:]
    /// The transactions that were written, the last ones at the end.
    private var transactions: [[QueryModel.Change]] = []
    /// The rows of the table that the query selects from, by id.
    private var rows: [String: SourceRow] = [:]

    /// How often the rows of a client were compared.
    private(set) var checkCount = 0
    /// How many these were.
    private(set) var rowCount = 0

    /// Draws a query, and fills its tables.
    ///
    /// - Returns: `nil` when the query is refused.
    init?(seed: UInt64, on kind: TestedStorage) async throws {
        let edition = seed % 4 == 0 ? 2 : 3
        var source = QuerySource(seed: seed, edition: edition)
        query = source.query()
        let yaml = query.config(edition: edition)
        guard SyncConfig.parse(yaml).plan != nil else { return nil }
        self.seed = seed
        random = SeededGenerator(seed: seed)
        model = try QueryModel()
        storage = try await StorageScenario(yaml, on: kind)
        for name in QueryModel.tables { tables[name] = try await storage.table(name) }
        let first = try await model.fill(seed: seed)
        try await write(first)
        transactions.append(first)
    }

    /// Lets the service live three times.
    mutating func run() async throws {
        for life in 0..<3 {
            if life > 0 {
                try await storage.reopen()
                for name in QueryModel.tables { tables[name] = try await storage.table(name) }
                for transaction in transactions.suffix(random.number(below: 4)) { try await write(transaction) }
            }
            let storage = storage
            try await SessionScenario.run(over: storage) { scenario in
                self.storage = scenario.storage
                try await live(scenario)
            }
        }
    }

    /// Some commits, while a client is connected.
    private mutating func live(_ scenario: SessionScenario) async throws {
        var connected: SessionClient?
        for _ in 0..<3 {
            if random.number(below: 3) == 0 { _ = try await storage.storage.compact() }
            let transaction = try await model.change(&random)
            try await write(transaction)
            transactions.append(transaction)
            let (key, head) = ("x/\(Self.clientID)", SourcePosition.at(storage.position + 1))
            let number = try await storage.storage.createWriteCheckpoint(userKey: key, head: head)
            scenario.dispatcher.writeCheckpointRecorded(userKey: key, at: head.lsn)
            try await storage.commit()
            let ids = try await model.select(query.sql)
            if connected == nil { connected = try await client(scenario) }
            try await connected?.read(until: number)
            try expect(ids, connected?.rows ?? [:], "a connected client")
            var new = try await client(scenario)
            try await new.read(until: number)
            try expect(ids, new.rows, "a new client")
            await new.leave()
        }
        await connected?.leave()
    }

    private func client(_ scenario: SessionScenario) async throws -> SessionClient {
        try await scenario.client(
            "x",
            clientID: Self.clientID,
            claims: QuerySource.claims,
            parameters: QuerySource.parameters
        )
    }

    /// Saves a transaction; it is not committed.
    private mutating func write(_ transaction: [QueryModel.Change]) async throws {
        for change in transaction {
            let table = try #require(tables[change.table])
            switch change.kind {
            case .truncation: try await storage.writer.truncate(table)
            case .row(let row):
                let rejected = try await storage.writer.save([row], of: table, mode: .stream)
                #expect(rejected.isEmpty, "seed \(seed)")
            }
            if change.table == "p" { change.apply(to: &rows) }
        }
    }

    /// Compares the rows of a client with those that SQLite selects.
    private mutating func expect(_ ids: Set<String>, _ received: [String: [String: String]], _ who: String) throws {
        checkCount += 1
        rowCount += ids.count
        var data: [String: Set<String>] = [:]
        for (identity, row) in received.values.joined() {
            data[String(identity.split(separator: "/", omittingEmptySubsequences: false)[1]), default: []].insert(row)
        }
        #expect(Set(data.keys) == ids, "seed \(seed), \(who): \(query.config(edition: 3))\n\(query.sql)")
        let name = SourceTableName(schema: "main", name: "p")
        for id in ids {
            let row = try #require(rows[id])
            let evaluated = storage.stream.plan.evaluate(row, of: name, bucketPrefix: storage.stream.bucketPrefix)
            #expect(data[id] == Set(evaluated.map(\.data.description)), "seed \(seed), \(who), row \(id)")
        }
    }
}
