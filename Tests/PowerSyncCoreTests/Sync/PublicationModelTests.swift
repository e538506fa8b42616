import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Random histories of a service and a client, with priorities, local writes, interrupted checkpoints, compactions and restarts.
///
/// - A partial checkpoint never shows an older operation than the one that is shown, and no row disappears.
/// - It shows every row of its buckets, and every operation beyond all that was published.
/// - A row with waiting writes keeps what the user wrote.
/// - A complete checkpoint that is applied shows exactly what the service has.
/// - How lines are divided into transactions changes nothing, nor does the way in which operations are found.
@Suite struct PublicationModelTests {
    @Test(arguments: (1...240 as ClosedRange<UInt64>).one(in: 8))
    func randomHistories(_ seed: UInt64) throws {
        var history = ModelHistory(seed: seed)
        let client = try ModelClient(.oneByOne, bulkLoadThreshold: .max)
        for _ in 0..<12 {
            for step in history.nextRound(positions: try client.positions()) {
                try client.perform(step, "seed \(seed)")
            }
        }
        for step in history.lastRound(positions: try client.positions()) {
            try client.perform(step, "seed \(seed)")
        }
        #expect(client.isComplete, "seed \(seed)")

        let expected = try client.tables
        for (delivery, threshold) in [(Delivery.batched, Int64.max), (.batched, 0), (.json, 0)] {
            let other = try ModelClient(delivery, bulkLoadThreshold: threshold)
            for step in client.steps { try other.repeat(step) }
            #expect(try other.tables == expected, "seed \(seed), \(delivery), bulk load from \(threshold)")
        }
    }
}

/// Something that happens to a client.
private enum ModelStep {
    case lines([SyncLine], ModelCheckpoint)
    case write(String, Int64)
    /// The queue was uploaded, and the service has returned a write checkpoint.
    case upload(writeCheckpoint: Int64)
    case restart
    /// Everything is to be published again.
    case resync
}

/// What a checkpoint line announced.
private struct ModelCheckpoint {
    /// By row, the newest operation among the announced buckets.
    var rows: [String: Int64] = [:]
    /// By priority, the same of the buckets that a partial completion covers.
    var covered: [[String: Int64]] = Array(repeating: [:], count: 4)
}

/// A service with some buckets, each of which the client gets or not.
private struct ModelHistory {
    private struct Bucket {
        let name: String
        let priority: Int32
        var isSelected: Bool
        var operations: [Operation] = []
    }

    private static let rows = (0..<5).map { "r\($0)" }

    private var random: SeededGenerator
    private var buckets: [Bucket] = []
    private var opID: Int64 = 0
    private var writeCheckpoint: Int64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        // In every fourth history there is nothing but priority 0.
        let priorities: [Int32] = seed.isMultiple(of: 4) ? [0, 0, 0] : [0, 0, 1, 1, 2, 3, 3]
        for (index, priority) in priorities.enumerated() {
            let isSelected = index == 0 || Bool.random(using: &random)
            buckets.append(Bucket(name: "\(priority)-\(index)", priority: priority, isSelected: isSelected))
        }
    }

    /// What happens until the next checkpoint, and that checkpoint, which may be interrupted.
    mutating func nextRound(positions: [String: Int64]) -> [ModelStep] {
        change()
        var steps: [ModelStep] = []
        if random.number(below: 6) == 0 { steps.append(.restart) }
        if random.number(below: 12) == 0 { steps.append(.resync) }
        if random.number(below: 3) == 0 { steps.append(.write(Self.rows.randomElement(using: &random) ?? "r0", opID)) }
        if random.number(below: 3) == 0 { steps.append(upload()) }
        var lines = self.lines(positions, isInterrupted: random.number(below: 3) == 0)
        // A write or an upload in the middle.
        if random.number(below: 3) == 0, lines.count > 2 {
            let index = 1 + random.number(below: lines.count - 1)
            steps.append(.lines(Array(lines[..<index]), checkpoint))
            steps.append(Bool.random(using: &random) ? upload() : .write(Self.rows[0], opID))
            lines.removeSubrange(..<index)
        }
        return steps + [.lines(lines, checkpoint)]
    }

    /// Everything is uploaded and downloaded.
    mutating func lastRound(positions: [String: Int64]) -> [ModelStep] {
        [upload(), .lines(lines(positions, isInterrupted: false), checkpoint)]
    }

    private mutating func upload() -> ModelStep {
        // Otherwise it is one that a checkpoint may have had already.
        if writeCheckpoint == 0 || Bool.random(using: &random) { writeCheckpoint += 1 }
        return .upload(writeCheckpoint: writeCheckpoint)
    }

    private mutating func change() {
        for _ in 0..<random.number(below: 8) {
            let index = random.number(below: buckets.count)
            opID += 1
            let row = Self.rows.randomElement(using: &random) ?? "r0"
            switch random.number(below: 10) {
            case 0..<2: buckets[index].operations.append(.remove(opID, row))
            case 2: compact(index)
            default: buckets[index].operations.append(.put(opID, row, data: #"{"col":"\#(opID)"}"#))
            }
        }
        if random.number(below: 3) == 0 {
            let index = random.number(below: buckets.count)
            buckets[index].isSelected.toggle()
        }
    }

    /// Replaces superseded operations by MOVEs, and those before the first PUT by a CLEAR.
    private mutating func compact(_ index: Int) {
        var last: [String: Int64] = [:]
        for operation in buckets[index].operations { last[operation.id ?? ""] = operation.opID }
        var compacted: [Operation] = []
        for operation in buckets[index].operations {
            let isNeeded = operation.id.map { last[$0] == operation.opID } ?? false
            if compacted.allSatisfy({ $0.kind == .clear }), !isNeeded || operation.kind != .put {
                compacted = [.clear(operation.opID)]
            } else {
                compacted.append(isNeeded ? operation : .move(operation.opID))
            }
        }
        buckets[index].operations = compacted
    }

    private static func live(_ operations: [Operation]) -> [String: Int64] {
        var live: [String: Int64] = [:]
        for operation in operations {
            switch operation.kind {
            case .put: live[operation.id ?? ""] = operation.opID
            case .remove: live[operation.id ?? ""] = nil
            case .clear: live = [:]
            case .move: break
            }
        }
        return live
    }

    private var checkpoint: ModelCheckpoint {
        var checkpoint = ModelCheckpoint()
        for bucket in buckets where bucket.isSelected {
            let live = Self.live(bucket.operations)
            checkpoint.rows.merge(live) { max($0, $1) }
            for priority in Int(bucket.priority)..<4 { checkpoint.covered[priority].merge(live) { max($0, $1) } }
        }
        return checkpoint
    }

    private mutating func lines(_ positions: [String: Int64], isInterrupted: Bool) -> [SyncLine] {
        let selected = buckets.filter(\.isSelected)
        let descriptions = selected.map { bucket in
            BucketDescription.bucket(bucket.name, count: Int64(bucket.operations.count), priority: bucket.priority)
        }
        var lines: [SyncLine] = []
        for priority in Set(selected.map(\.priority)).sorted() {
            for bucket in selected where bucket.priority == priority {
                let new = bucket.operations.filter { $0.opID > positions[bucket.name] ?? 0 }
                let half = new.count / 2
                for part in [new[..<half], new[half...]] where !part.isEmpty {
                    lines.append(.data(.line(bucket.name, Array(part))))
                }
            }
            if selected.contains(where: { $0.priority > priority }) { lines.append(.done(priority)) }
        }
        lines.append(.done)
        if isInterrupted { lines.removeLast(1 + random.number(below: lines.count)) }
        return [.checkpoint(opID, descriptions, writeCheckpoint: writeCheckpoint)] + lines
    }
}

/// A client, and what is known of it without looking into its engine.
private final class ModelClient {
    private let scenario: SyncScenario
    private(set) var steps: [ModelStep] = []
    /// The number of the last checkpoint of which something was published.
    private var published: Int64 = 0
    private var heldBack: ModelCheckpoint?
    /// Whether the last checkpoint was applied as a whole.
    private(set) var isComplete = false

    init(_ delivery: Delivery, bulkLoadThreshold: Int64) throws {
        scenario = try SyncScenario(delivery: delivery, bulkLoadThreshold: bulkLoadThreshold)
        try scenario.start()
    }

    var tables: [String: [String]] {
        get throws {
            var tables = try scenario.snapshot
            tables["indexes"] = nil
            return tables
        }
    }

    /// Where the service continues with each bucket.
    func positions() throws -> [String: Int64] {
        Dictionary(
            uniqueKeysWithValues: try scenario.write { db in
                try Row.fetchAll(db, sql: "SELECT name, last_op FROM ps_buckets").map { ($0[0], $0[1]) }
            }
        )
    }

    private func rows() throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try scenario.write { db in
                try Row.fetchAll(db, sql: "SELECT id, col FROM items").map { ($0[0], $0[1]) }
            }
        )
    }

    private func waiting() throws -> Set<String> {
        Set(try scenario.database.rows("SELECT data ->> 'id' FROM ps_crud"))
    }

    /// Does a step without looking.
    func `repeat`(_ step: ModelStep) throws {
        switch step {
        case .lines(let lines, _): try scenario.send(lines.map { .line($0) })
        default: _ = try act(step)
        }
    }

    private func act(_ step: ModelStep) throws -> [SyncAction] {
        switch step {
        case .lines:
            return []
        case .write(let row, let number):
            let text = "local \(number)"
            try scenario.write { db in
                try db.execute(sql: "UPDATE items SET col = ? WHERE id = ?", arguments: [text, row])
                let isThere = try Bool.fetchOne(
                    db,
                    sql: "SELECT EXISTS (SELECT 1 FROM items WHERE id = ?)",
                    arguments: [row]
                )
                guard isThere == false else { return }
                try db.execute(sql: "INSERT INTO items (id, col) VALUES (?, ?)", arguments: [row, text])
            }
            return []
        case .upload(let writeCheckpoint):
            try scenario.write { db in
                try UploadQueue.complete(
                    db,
                    through: UploadQueue.sequence(db) ?? 0,
                    writeCheckpoint: WriteCheckpoint(writeCheckpoint)
                )
            }
            return try scenario.send(.uploadCompleted)
        case .restart:
            scenario.restart()
            try scenario.start()
            return []
        case .resync:
            try scenario.send(.stop)
            try scenario.write { try LocalData.triggerResync($0, forgettingProgress: false) }
            try scenario.start()
            return []
        }
    }

    /// Does a step, and looks at what came of it.
    func perform(_ step: ModelStep, _ context: String) throws {
        steps.append(step)
        switch step {
        case .lines(let lines, let checkpoint):
            for line in lines { try receive(line, checkpoint, context) }
        case .write:
            isComplete = false
            _ = try act(step)
        case .upload:
            let actions = try act(step)
            if actions.contains(where: \.isCompletion) { try expectState(of: heldBack, context) }
        case .restart, .resync:
            heldBack = nil
            _ = try act(step)
        }
    }

    private func receive(_ line: SyncLine, _ checkpoint: ModelCheckpoint, _ context: String) throws {
        let (before, waiting) = (try rows(), try waiting())
        let actions = try scenario.receive(line)
        switch line {
        case .checkpoint(let line):
            (isComplete, heldBack) = (false, nil)
            number = line.lastOpID.rawValue
            #expect(try rows() == before, "\(context)")
        case .partialCheckpointComplete(let line):
            let isOpen = try scenario.write { try LocalWriteGate.isOpen($0) }
            guard isOpen || line.priority == .highest else {
                #expect(try rows() == before, "\(context)")
                return
            }
            try expectPartial(checkpoint.covered[Int(line.priority.rawValue)], before, waiting, context)
        case .checkpointComplete where actions.contains(where: \.isCompletion):
            try expectState(of: checkpoint, context)
        case .checkpointComplete:
            heldBack = checkpoint
            if isOfHighestPriority {
                try expectPartial(checkpoint.rows, before, waiting, context)
            } else {
                #expect(try rows() == before, "\(context)")
            }
        default:
            #expect(try rows() == before, "\(context)")
        }
    }

    private var number: Int64 = 0

    private var isOfHighestPriority: Bool {
        let buckets = scenario.engine.machine.trackedCheckpoint?.buckets ?? []
        return !buckets.isEmpty && buckets.allSatisfy { $0.priority == .highest }
    }

    private func expectPartial(
        _ covered: [String: Int64],
        _ before: [String: String],
        _ waiting: Set<String>,
        _ context: String
    ) throws {
        let after = try rows()
        for row in Set(before.keys).union(after.keys).union(covered.keys).sorted() {
            let (old, new) = (before[row], after[row])
            if waiting.contains(row) {
                #expect(new == old, "\(context): \(row) has waiting writes")
                continue
            }
            #expect(old == nil || new != nil, "\(context): \(row) has disappeared")
            if let older = old.flatMap({ Int64($0) }), let newer = new.flatMap({ Int64($0) }) {
                #expect(newer >= older, "\(context): \(row) is older than it was")
            }
            guard let operation = covered[row] else { continue }
            #expect(new != nil, "\(context): \(row) is not shown")
            if operation > published {
                #expect(new.flatMap { Int64($0) } ?? 0 >= operation, "\(context): \(row) is not up to date")
            }
        }
        published = max(published, number)
    }

    private func expectState(of checkpoint: ModelCheckpoint?, _ context: String) throws {
        let shown = try rows().mapValues { Int64($0) }
        #expect(shown == checkpoint?.rows.mapValues { Optional($0) }, "\(context)")
        published = max(published, number)
        isComplete = true
    }
}

extension SyncAction {
    fileprivate var isCompletion: Bool {
        if case .didCompleteSync = self { true } else { false }
    }
}
