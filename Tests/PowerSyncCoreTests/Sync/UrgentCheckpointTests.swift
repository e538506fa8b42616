import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Checkpoints of priority 0 while local writes hold everything else back (docs/client-sync.md "Completing a checkpoint").
@Suite struct UrgentCheckpointTests {
    /// Why the gate is closed, if it is.
    enum Gate: CaseIterable {
        case open
        /// The row `local` waits in the upload queue.
        case closedByQueue
        /// The queue is empty, and the write checkpoint is awaited.
        case closedByWriteCheckpoint
        /// An insert-only write waits in the upload queue.
        case closedByInsertOnlyWrite
    }

    /// Which rows of the checkpoint are shown, and what is recorded.
    private struct Outcome: Equatable {
        var rows: [String]
        var priorities: [Priority]
        var isHeldBack: Bool
    }

    private static let theirs = #"{"col":"theirs"}"#

    /// A client that has synced `old` once, with a gate in a state.
    private func started(_ gate: Gate, _ priorities: [Int32], _ delivery: Delivery) throws -> SyncScenario {
        let events = ClientTable(
            name: "events",
            columns: [ClientColumn(name: "col", type: .text)],
            isInsertOnly: true
        )
        let scenario = try SyncScenario(.items(), events, delivery: delivery)
        try scenario.start()
        let first = BucketDescription.bucket("0", priority: priorities[0])
        try scenario.receive(.checkpoint(1, [first]), .ops("0", .put(1, "old", data: Self.theirs)), .done)
        switch gate {
        case .open: break
        case .closedByQueue:
            try scenario.database.write("UPDATE items SET col = 'mine' WHERE id = 'old'")
        case .closedByWriteCheckpoint:
            try scenario.database.write("INSERT INTO items (id, col) VALUES ('local', 'mine')")
            try scenario.write { db in
                _ = try UploadQueue.complete(
                    db,
                    through: UploadQueue.sequence(db) ?? 0,
                    writeCheckpoint: WriteCheckpoint(7)
                )
            }
        case .closedByInsertOnlyWrite:
            try scenario.database.write("INSERT INTO events (id, col) VALUES ('e', 'mine')")
        }
        return scenario
    }

    private func outcome(_ scenario: SyncScenario) throws -> Outcome {
        Outcome(
            rows: try scenario.database.rows("SELECT id, col FROM items ORDER BY id"),
            priorities: scenario.status.priorities.map(\.priority),
            isHeldBack: scenario.engine.hasPendingCheckpoint
        )
    }

    @Test(arguments: Gate.allCases, Delivery.allCases)
    func whatIsShownOfACheckpoint(_ gate: Gate, _ delivery: Delivery) throws {
        for priorities in [[0], [0, 0], [0, 3], [1], [3], [1, 3]] as [[Int32]] {
            for completion in [nil, 0, 1] as [Int32?] where completion.map({ priorities.contains($0) }) ?? true {
                try check(gate, priorities, completion, delivery)
            }
        }
    }

    private func check(_ gate: Gate, _ priorities: [Int32], _ completion: Int32?, _ delivery: Delivery) throws {
        let scenario = try started(gate, priorities, delivery)
        let first = scenario.now
        scenario.now = first.adding(seconds: 60)
        let buckets = priorities.enumerated().map { BucketDescription.bucket("\($0)", count: 2, priority: $1) }
        var lines = [SyncLine.checkpoint(9, buckets)]
        for index in priorities.indices {
            let opID = Int64(index) + 2
            lines.append(.ops("\(index)", .put(opID, "new\(index)", data: Self.theirs)))
        }
        // The row with waiting writes, and a deletion.
        lines.append(.ops("0", .put(5, "old", data: #"{"col":"newer"}"#)))
        lines.append(completion.map { .done($0) } ?? .done)
        let updated = try scenario.updatedRows
        try scenario.send(lines.map { .line($0) })

        let isComplete = completion == nil
        let isUrgent = priorities.contains(0) && isComplete || completion == 0
        let limit = isComplete ? (gate == .open ? 3 : 0) : completion ?? 0
        let covered = priorities.indices.filter { priorities[$0] <= limit }
        var rows: Set = [gate == .closedByQueue ? "old|mine" : "old|theirs"]
        if gate == .closedByWriteCheckpoint { rows.insert("local|mine") }
        if gate == .open || isUrgent {
            rows.formUnion(covered.map { "new\($0)|theirs" })
            if gate != .closedByQueue, rows.remove("old|theirs") != nil { rows.insert("old|newer") }
        }
        let recorded: Priority? =
            if gate == .open { isComplete ? .complete : completion.map { Priority($0) } } else {
                isUrgent ? .highest : nil
            }
        let expected = Outcome(
            rows: rows.sorted(),
            priorities: recorded == .complete || recorded == nil ? [.complete] : [recorded ?? .complete, .complete],
            isHeldBack: gate != .open && isComplete
        )
        let context = "\(gate), \(priorities), \(completion.map(String.init) ?? "complete")"
        #expect(try outcome(scenario) == expected, "\(context)")
        #expect(scenario.status.lastSyncedAt == (recorded == .complete ? scenario.now : first), "\(context)")
        #expect((scenario.status.progress == nil) == (recorded == .complete), "\(context)")
        if gate != .open { #expect(try scenario.updatedRows.filter { updated.contains($0) } == updated, "\(context)") }
        #expect(try scenario.syncState.count == scenario.status.priorities.count, "\(context)")

        // The gate opens, and everything is as the service has it.
        try scenario.write { db in
            try UploadQueue.complete(db, through: UploadQueue.sequence(db) ?? 0, writeCheckpoint: WriteCheckpoint(8))
            try LocalWriteGate.setTarget(db, WriteCheckpoint(8))
        }
        try scenario.receive(.checkpoint(10, buckets, writeCheckpoint: 8), .done)
        let all = priorities.indices.map { "new\($0)|theirs" } + ["old|newer"]
        #expect(try outcome(scenario) == Outcome(rows: all, priorities: [.complete], isHeldBack: false), "\(context)")
        #expect(try scenario.updatedRows.isEmpty, "\(context)")
    }

    @Test(arguments: Delivery.allCases)
    func checkpointOfPriority0ThatWasHeldBackIsCompleteWhenTheGateOpens(_ delivery: Delivery) throws {
        let scenario = try started(.closedByQueue, [0], delivery)
        let first = scenario.now
        scenario.now = first.adding(seconds: 60)
        let actions = try scenario.receive(
            .checkpoint(4, [.bucket("0", priority: 0)], writeCheckpoint: 7),
            .ops("0", .put(2, "new", data: Self.theirs), .remove(3, "old")),
            .done
        )
        #expect(actions.kinds.suffix(2) == ["log info", "status"])
        #expect(!actions.kinds.contains("did complete"))
        #expect(try outcome(scenario).rows == ["new|theirs", "old|mine"])
        #expect(scenario.status.lastApplied == nil)
        #expect(try scenario.write { try LocalWriteGate.lastApplied($0) } == nil)
        try scenario.write { db in
            try UploadQueue.complete(db, through: UploadQueue.sequence(db) ?? 0, writeCheckpoint: nil)
            try LocalWriteGate.setTarget(db, WriteCheckpoint(7))
        }
        scenario.now = first.adding(seconds: 120)
        let applied = try scenario.send(.uploadCompleted)
        #expect(applied.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(7))
        #expect(try outcome(scenario).rows == ["new|theirs"])
        #expect(scenario.status.lastSyncedAt == scenario.now)
    }

    /// The service has data of priority 0 only, so it sends no partial completion.
    @Test(arguments: Gate.allCases, Delivery.allCases)
    func priority0IsShownWhenNothingElseHasChanged(_ gate: Gate, _ delivery: Delivery) throws {
        let scenario = try started(gate, [3], delivery)
        let mine = try outcome(scenario).rows
        try scenario.receive(
            .diff(2, [.bucket("urgent", priority: 0)]),
            .ops("urgent", .put(2, "notice", data: Self.theirs)),
            .done
        )
        #expect(try outcome(scenario).rows == (mine + ["notice|theirs"]).sorted())
        #expect(scenario.engine.hasPendingCheckpoint == (gate != .open))
        let published = scenario.status.priorities
        // Once is enough: the next one has nothing new of it.
        scenario.now = scenario.now.adding(seconds: 60)
        try scenario.receive(.done)
        if gate != .open { #expect(scenario.status.priorities == published) }
        try scenario.receive(
            .diff(3, [.bucket("urgent", priority: 0)]),
            .ops("urgent", .put(3, "notice", data: #"{"col":"newer"}"#)),
            .done
        )
        #expect(try outcome(scenario).rows == (mine + ["notice|newer"]).sorted())
    }

    @Test
    func priority0SaysWhenItsStreamsWerePublished() throws {
        let key = StreamKey(name: "s")
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        try scenario.start(live: [key])
        try scenario.database.write("INSERT INTO items (id, col) VALUES ('local', 'mine')")
        try scenario.receive(
            .checkpoint(
                1,
                [.bucket("a", priority: 0, .subscription(0))],
                streams: [StreamDescription(name: "s", isDefault: false)]
            ),
            .ops("a", .put(1, "x")),
            .done
        )
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now])
        #expect(scenario.status.hasSynced == false)
        #expect(scenario.status.entry(covering: .highest)?.priority == .highest)
        let stored = try scenario.database.rows("SELECT last_synced_at FROM ps_stream_subscriptions")
        #expect(stored == ["\(scenario.now.rawValue)"])
    }

    @Test
    func checkpointWithoutBucketsSaysNothingOfPriority0() throws {
        let scenario = try SyncScenario.started()
        try scenario.database.write("INSERT INTO items (id, col) VALUES ('local', 'mine')")
        try scenario.receive(.checkpoint(1, []), .done)
        #expect(scenario.status.priorities.isEmpty)
        #expect(scenario.engine.hasPendingCheckpoint)
    }

    /// An application may keep rows in a raw table that it uploads by itself, and that are not synced.
    @Test
    func onlyRowsThatWereLeftOutAreLookedAtAgain() throws {
        let scenario = try started(.closedByInsertOnlyWrite, [0], .oneByOne)
        try scenario.receive(.checkpoint(3, [.bucket("0", priority: 0)]), .ops("0", .put(2, "new")), .done)
        #expect(try scenario.updatedRows.isEmpty)
        try scenario.receive(.diff(4), .ops("0", .put(4, "e", type: "events")), .done)
        #expect(try scenario.updatedRows == ["events|e"])
    }
}
