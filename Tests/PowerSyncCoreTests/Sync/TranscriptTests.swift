import Foundation
import GRDB
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Transcripts of streams, from bytes to tables.
@Suite struct TranscriptTests {
    private let todosOfList = StreamKey(name: "todos", parameters: ["list_id": "l1"])
    private let lists = BucketName(#"1#lists|0["u1"]"#)
    private let todos = BucketName(#"1#todos|0["l1"]"#)

    private func table(_ name: String) -> ClientTable {
        ClientTable(name: name, columns: [ClientColumn(name: "name", type: .text)])
    }

    /// A client with subscription 0 = `todos {"list_id":"l1"}`, whose stream is open.
    private func started(_ delivery: Delivery) throws -> SyncScenario {
        let scenario = try SyncScenario(table("lists"), table("todos"), table("notes"), delivery: delivery)
        try scenario.write { try StreamSubscriptions.subscribe($0, todosOfList, now: scenario.now) }
        try scenario.start(live: [todosOfList])
        return scenario
    }

    /// Feeds lines of a fixture, counted from 1.
    @discardableResult
    private func receive(
        _ name: String,
        lines: ClosedRange<Int>? = nil,
        _ scenario: SyncScenario
    ) throws -> [SyncAction] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/Transcripts/\(name).ndjson")
        var reader = SyncLineReader(format: .ndjson)
        reader.append(ByteBuffer(bytes: try Data(contentsOf: url)))
        var received: [SyncEvent] = []
        while let line = try reader.next() { received.append(.line(line)) }
        return try scenario.send(lines.map { Array(received[($0.lowerBound - 1)...($0.upperBound - 1)]) } ?? received)
    }

    /// The JSON in the view's table.
    private func rows(_ table: String, _ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id, data ->> 'name' FROM ps_data__\(table) ORDER BY id")
    }

    private func ids(_ table: String, _ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows("SELECT id FROM ps_data__\(table) ORDER BY id")
    }

    /// Where the next request would continue.
    private func positions(_ scenario: SyncScenario) throws -> [BucketName: OpID] {
        scenario.restart()
        let request = try scenario.start(live: [todosOfList])
        return Dictionary(uniqueKeysWithValues: request.buckets.map { ($0.name, $0.after) })
    }

    @Test(arguments: Delivery.allCases)
    func toDOnOneConnection(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        try receive("A-initial-sync", lines: 1...3, scenario)
        #expect(try rows("lists", scenario) == ["l1|Groceries", "l2|Work"])
        #expect(scenario.status.priorities.map(\.priority) == [Priority(1)])
        try receive("A-initial-sync", lines: 4...5, scenario)
        #expect(try scenario.database.rows("SELECT id, data ->> 'title' FROM ps_data__todos") == [#"t2|Bread "rye""#])
        #expect(scenario.status.hasSynced == true)
        #expect(scenario.status.streams?.map(\.key.name).sorted() == ["lists", "todos"])

        try scenario.write { try LocalWriteGate.setTarget($0, WriteCheckpoint(1)) }
        try receive("B-update-and-write-checkpoint", scenario)
        #expect(try rows("lists", scenario) == ["l1|Groceries (weekly)", "l2|Work"])
        #expect(try scenario.write { try LocalWriteGate.isOpen($0) })

        try scenario.write { try LocalWriteGate.setTarget($0, WriteCheckpoint(2)) }
        try receive("C-write-checkpoint-only", lines: 1...1, scenario)
        #expect(try !scenario.write { try LocalWriteGate.isOpen($0) })
        let actions = try receive("C-write-checkpoint-only", lines: 2...2, scenario)
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(2))
        #expect(try scenario.write { try LocalWriteGate.isOpen($0) })

        try receive("D-bucket-removed", lines: 1...1, scenario)
        #expect(try ids("todos", scenario) == ["t2"])
        try receive("D-bucket-removed", lines: 2...2, scenario)
        #expect(try ids("todos", scenario).isEmpty)
        #expect(try positions(scenario) == [lists: OpID(7)])
    }

    @Test(arguments: [(3, 0), (4, 5), (5, 5)])
    func interrupted(_ lines: Int, _ todosPosition: Int64) throws {
        let scenario = try started(.oneByOne)
        try receive("A-initial-sync", lines: 1...lines, scenario)
        let positions = try positions(scenario)
        #expect(positions[lists] == OpID(5))
        #expect(positions[todos] == (todosPosition == 0 ? nil : OpID(todosPosition)))
    }

    @Test(arguments: Delivery.allCases)
    func eAChunkedBucket(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        try receive("E-chunked-bucket", lines: 1...2, scenario)
        #expect(try ids("todos", scenario).isEmpty)
        try receive("E-chunked-bucket", lines: 3...5, scenario)
        #expect(try ids("todos", scenario) == ["t2"])
    }

    @Test
    func eInterruptedAfterItsFirstChunk() throws {
        let scenario = try started(.oneByOne)
        try receive("E-chunked-bucket", lines: 1...2, scenario)
        #expect(try positions(scenario) == [todos: OpID(4)])
    }

    @Test(arguments: Delivery.allCases)
    func fACheckpointThatCompactionMadeInvalid(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        try receive("F-invalidated-by-compaction", lines: 1...4, scenario)
        #expect(try ids("notes", scenario).isEmpty)
        try receive("F-invalidated-by-compaction", lines: 5...5, scenario)
        #expect(try ids("notes", scenario) == ["n1", "n2"])
    }

    @Test(arguments: Delivery.allCases)
    func gReconnectingWithNothingNew(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        try receive("A-initial-sync", scenario)
        let before = try scenario.oplog
        scenario.restart()
        try scenario.start(live: [todosOfList])
        scenario.now = scenario.now.adding(seconds: 60)
        try receive("G-nothing-new", scenario)
        #expect(try scenario.oplog == before)
        #expect(try ids("lists", scenario) == ["l1", "l2"])
        #expect(scenario.status.lastSyncedAt == scenario.now)
    }

    @Test(arguments: Delivery.allCases)
    func hAWrongChecksum(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        let actions = try receive("H-checksum-mismatch", scenario)
        #expect(actions.last == .closeStream(hideDisconnect: false))
        #expect(try ids("todos", scenario).isEmpty)
        #expect(try positions(scenario).isEmpty)
    }

    @Test
    func jErrorsOfStreams() throws {
        let scenario = try started(.oneByOne)
        try receive("A-initial-sync", lines: 1...3, scenario)
        let warnings = try receive("J-stream-errors", scenario).messages(.warning)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("list_id must be a JSON array") == true)
        #expect(scenario.status.hasSynced == true)
    }

    @Test
    func pALocalWriteWaitsForItsUpload() throws {
        let scenario = try started(.oneByOne)
        try scenario.database.write("INSERT INTO lists (id, name) VALUES ('mine', 'Mine')")
        try receive("A-initial-sync", scenario)
        #expect(try ids("lists", scenario) == ["mine"])
        try scenario.write { db in
            try UploadQueue.complete(db, through: .max, writeCheckpoint: WriteCheckpoint(1))
        }
        try scenario.send(.uploadCompleted)
        #expect(try ids("lists", scenario) == ["mine"])
        try receive("B-update-and-write-checkpoint", scenario)
        #expect(try rows("lists", scenario) == ["l1|Groceries (weekly)", "l2|Work"])
        #expect(try ids("todos", scenario) == ["t2"])
    }

    @Test(arguments: Delivery.allCases)
    func qAnInterruptedLowPriority(_ delivery: Delivery) throws {
        let scenario = try started(delivery)
        try receive("Q-interrupted-low-priority", lines: 1...3, scenario)
        #expect(try rows("lists", scenario) == ["l1|Groceries", "l2|Work"])
        try receive("Q-interrupted-low-priority", lines: 4...7, scenario)
        #expect(try rows("lists", scenario) == ["l1|Groceries (weekly)", "l2|Work"])
        #expect(try ids("todos", scenario).isEmpty)
        try receive("Q-interrupted-low-priority", lines: 8...9, scenario)
        #expect(try ids("todos", scenario) == ["t2"])
    }
}
