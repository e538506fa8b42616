import NIOConcurrencyHelpers
import NIOCore
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// First downloads over links that end again and again: each connection brings the client forward (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(2))) struct LinkTests {
    private static let config = """
        config: {edition: 3}
        streams:
          urgent: {auto_subscribe: true, priority: 1, query: SELECT * FROM t1}
          other: {auto_subscribe: true, query: SELECT * FROM t2}
        """
    /// What a line has besides its operations, the line before it that announces a checkpoint not counted.
    private static let slack = 1024

    /// What rows of a table are like.
    enum Rows: CaseIterable, CustomTestStringConvertible {
        case tiny, ordinary, long, mixed, removed

        var testDescription: String { "\(self)" }

        /// The bytes of the text of the next row.
        func length(_ random: inout SeededGenerator) -> Int {
            switch self {
            case .tiny: random.number(below: 20)
            case .ordinary, .removed: 800 + random.number(below: 400)
            case .long: 50_000 + random.number(below: 100_000)
            case .mixed: [10, 1_000, 30_000, 65_500, 200_000][random.number(below: 5)]
            }
        }

        func count(_ random: inout SeededGenerator) -> Int {
            switch self {
            case .tiny: 1_500 + random.number(below: 1_500)
            case .ordinary, .removed: 400 + random.number(below: 1_200)
            case .long, .mixed: 10 + random.number(below: 30)
            }
        }
    }

    struct Case: CustomTestStringConvertible {
        var storage: TestedStorage
        var rows: Rows
        var format: SyncLineFormat
        var seed: UInt64

        var testDescription: String { "\(storage), \(rows) rows, \(format), seed \(seed)" }
    }

    static let cases = TestedStorage.durable.flatMap { storage in
        Rows.allCases.enumerated().flatMap { number, rows in
            [SyncLineFormat.ndjson, .bson].map { format in
                Case(storage: storage, rows: rows, format: format, seed: UInt64(number) * 2 + (format == .bson ? 1 : 0))
            }
        }
    }

    /// The least link carries the checkpoint line and one line of 64 KiB, or of the longest row.
    @Test(arguments: cases.one(in: 3)) func eachConnectionBringsTheClientForward(_ test: Case) async throws {
        try await SessionScenario.run(Self.config, on: test.storage) { scenario in
            var random = SeededGenerator(seed: test.seed)
            var source: [String: String] = [:]
            var longest = 0
            let tables = [try await scenario.storage.table("t1"), try await scenario.storage.table("t2")]
            let names = ["1#urgent|0[]", "1#other|0[]"]
            for (table, bucket) in zip(tables, names) {
                for number in 0..<test.rows.count(&random) {
                    let text = String(repeating: "x", count: test.rows.length(&random))
                    let row: JSONObject = ["id": .string("r\(number)"), "text": .string(text)]
                    source["\(bucket)/r\(number)"] = row.text
                    longest = max(longest, row.text.utf8.count)
                    try await scenario.insert("r\(number)", ["text": text], into: table)
                    guard test.rows == .removed, random.number(below: 3) > 0 else { continue }
                    source["\(bucket)/r\(number)"] = nil
                    try await scenario.storage.save(.delete(key: [.text("r\(number)")]), of: table)
                }
            }
            try await scenario.storage.commit()

            let checkpointBytes = try await scenario.checkpointBytes(test.format)
            let least = checkpointBytes + max(SyncSession.firstLineBytes, longest) + Self.slack
            let capacity = least * [10, 10, 15, 40][random.number(below: 4)] / 10
            let rate = [2_000, 20_000, 200_000][random.number(below: 3)]
            let link = NarrowLink(bytesPerSecond: rate, lifetime: .milliseconds(capacity * 1000 / rate + 1))
            var client = LinkedClient(test.format)
            var connections = 0
            while client.completed == nil {
                let before = client.operationCount
                try await client.connect(scenario, over: link)
                connections += 1
                guard client.operationCount > before || client.completed != nil else {
                    Issue.record("connection \(connections) of \(link.capacity) bytes has brought nothing")
                    break
                }
                // Another row while the client is away: of what it has, nothing is sent again.
                guard connections == 2, client.completed == nil else { continue }
                let row: JSONObject = ["id": "new", "text": "x"]
                source["\(names[0])/new"] = row.text
                try await scenario.insert("new", ["text": "x"], into: tables[0])
                try await scenario.storage.commit()
            }
            #expect(client.rows == source)
        }
    }

    // MARK: The lengths of lines

    /// What a client downloads, and who else does.
    enum Download: CaseIterable, CustomTestStringConvertible {
        /// Everything, alone.
        case first
        /// The same, with others at the same time.
        case sharedFirst
        /// What is committed after it has connected, a little each time, then much.
        case live
        /// The same, with others.
        case sharedLive

        var testDescription: String { "\(self)" }
        var isShared: Bool { self == .sharedFirst || self == .sharedLive }
        var isLive: Bool { self == .live || self == .sharedLive }
    }

    @Test(arguments: TestedStorage.durable, Download.allCases)
    func linesBeginWith64KiBAndDoubleUpTo1MiB(_ kind: TestedStorage, _ download: Download) async throws {
        let reads = NIOLockedValueBox(0)
        func counted(_ storage: some BucketStorage) -> any BucketStorage { ReadCounter(storage: storage, reads: reads) }
        let config = "config: {edition: 3}\nstreams: {g: {auto_subscribe: true, query: SELECT * FROM t}}"
        try await SessionScenario.run(config, on: kind, view: { counted($0) }) { scenario in
            let table = try await scenario.storage.table("t")
            func write(_ count: Int, from first: Int = 0) async throws {
                let text = String(repeating: "x", count: 4_000)
                for number in first..<(first + count) {
                    try await scenario.insert("r\(number)", ["text": text], into: table)
                }
                try await scenario.storage.commit()
            }
            if !download.isLive { try await write(2_000) }
            var other: SessionClient?
            if download.isShared { other = try await scenario.client("u2") }
            var client = LineSizes(try await scenario.client("u1"))
            try await client.readUntilComplete()
            if download.isLive {
                for round in 0..<2 {
                    try await write(3, from: round * 3)
                    try await client.readUntilComplete()
                }
                try await write(1_000, from: 6)
                try await client.readUntilComplete()
            }
            let rows = client.rowBytes
            for (number, bytes) in rows.enumerated() {
                #expect(bytes <= min(64 << min(number, 4), 1024) * 1024, "line \(number) of \(rows)")
            }
            // About as many as with lines of 1 MiB only: what is short is a line, and not a read. Of several clients, each reads by
            // itself what it wants before the others come.
            let count = reads.withLockedValue { $0 }
            let plainCount = try await scenario.storage.readCount(BucketName("1#g|0[]"))
            if !download.isShared { #expect(count <= plainCount + (download.isLive ? 3 : 1), "\(plainCount)") }
            if download == .first { #expect(rows.dropFirst(5).dropLast().allSatisfy { $0 > 512 * 1024 }, "\(rows)") }
            await client.client.leave()
            if let client = other.take() { await client.leave() }
        }
    }
}

extension SessionScenario {
    /// The bytes of the line that announces the checkpoint to a new client.
    fileprivate func checkpointBytes(_ format: SyncLineFormat) async throws -> Int {
        var session = try await session(format: format)
        return try #require(try await session.open()).readableBytes
    }
}

/// A client with the bytes of the rows of each of its data lines.
private struct LineSizes: ~Copyable {
    var client: SessionClient
    private(set) var rowBytes: [Int] = []

    init(_ client: consuming SessionClient) {
        self.client = client
    }

    mutating func readUntilComplete() async throws {
        while let line = try await client.next() {
            if line["data"] != nil {
                let operations = line.object("data").objects("data")
                rowBytes.append(operations.reduce(0) { $0 + ($1.text("data")?.utf8.count ?? 0) })
            }
            if line["checkpoint_complete"] != nil { return }
        }
        Issue.record("the session has ended")
    }
}

extension StorageScenario {
    /// How many reads a bucket takes without regard to a client.
    fileprivate func readCount(_ bucket: BucketName) async throws -> Int {
        var (count, after, hasMore) = (0, OpID.zero, true)
        while hasMore {
            let chunks = try await storage.bucketData([.init(name: bucket, after: after)], at: try checkpoint)
            count += 1
            after = chunks.last?.line.nextAfter ?? after
            hasMore = chunks.last?.line.hasMore ?? false
        }
        return count
    }
}

/// A storage that counts how often operations are read.
private struct ReadCounter<Storage: BucketStorage>: ForwardingStorage {
    let storage: Storage
    let reads: NIOLockedValueBox<Int>

    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        reads.withLockedValue { $0 += 1 }
        return try await storage.bucketData(positions, at: checkpoint, limits: limits)
    }
}
