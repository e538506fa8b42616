import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncCore

/// The service of a random transcript: few buckets with few rows, so that what can meet does meet.
struct ModelService {
    struct Bucket {
        let name: String
        var priority: Int32
        var operations: [Operation] = []

        /// The sum of the checksums, which a CLEAR starts anew.
        var checksum: UInt32 {
            operations.reduce(0) { $1.kind == .clear ? $1.checksum : $0 &+ $1.checksum }
        }
    }

    private(set) var buckets: [Bucket]
    /// The newest op id.
    private(set) var lastOpID: Int64 = 0
    /// The newest op id that a checkpoint has named, which may come later.
    var announcedOpID: Int64 = 0
    /// The newest write checkpoint.
    private(set) var writeCheckpoint: Int64 = 0
    /// Whether descriptions say how many operations a bucket has.
    let countsOperations: Bool
    /// What operations are mostly about.
    private enum Rows {
        case various
        /// One row, which is in every bucket.
        case one
        /// Rows that have the same key although they differ.
        case ofOneKey
    }

    private let rows: Rows
    /// The newest operation that the stream has sent, by bucket.
    private var sent: [String: Int64] = [:]

    init(using random: inout SeededGenerator) {
        // The first one is urgent, so that partial checkpoints leave something to do.
        buckets = ["a", "b", "c", "d"].prefix(min(2 + random.number(below: 4), 4)).map {
            Bucket(name: $0, priority: Int32($0 == "a" ? random.number(below: 2) : 1 + random.number(below: 3)))
        }
        countsOperations = random.number(below: 4) > 0
        rows =
            switch random.number(below: 8) {
            case 0: .ofOneKey
            case 1, 2: .one
            default: .various
            }
    }

    subscript(name: String) -> Bucket? { buckets.first { $0.name == name } }

    /// Acknowledges what a client has uploaded.
    mutating func makeWriteCheckpoint() -> WriteCheckpoint {
        writeCheckpoint += 1
        return WriteCheckpoint(writeCheckpoint)
    }

    // MARK: - The stream

    /// A stream begins, and goes on where the client has ended.
    mutating func open(_ request: StreamingSyncRequest) {
        sent = Dictionary(uniqueKeysWithValues: request.buckets.map { ($0.name.rawValue, $0.after.rawValue) })
    }

    /// A client has dropped a bucket.
    mutating func forget(_ name: String) {
        sent[name] = nil
    }

    /// The operations that the client lacks.
    func missing(_ name: String) -> [Operation] {
        self[name]?.operations.filter { $0.opID > sent[name] ?? 0 } ?? []
    }

    /// The next data line of a bucket.
    mutating func nextLine(of name: String, limit: Int) -> SyncLine {
        let operations = Array(missing(name).prefix(limit))
        if let last = operations.last { sent[name] = last.opID }
        return .data(.line(name, operations))
    }

    /// What a client stores that has downloaded everything: `bucket op id key`, sorted.
    var storedOperations: [String] {
        buckets.flatMap { bucket in
            var keys: [String: Int64] = [:]
            var unidentified: [Int64] = []
            for operation in bucket.operations {
                switch operation.kind {
                case .put where operation.id == nil: unidentified.append(operation.opID)
                case .put: keys[operation.key] = operation.opID
                case .remove: keys[operation.key] = nil
                case .move: break
                case .clear: (keys, unidentified) = ([:], [])
                }
            }
            return keys.map { "\(bucket.name) \($0.value) \($0.key)" } + unidentified.map { "\(bucket.name) \($0) -" }
        }.sorted()
    }

    func description(of name: String, reasons: [BucketReason]) -> BucketDescription? {
        self[name].map { bucket in
            BucketDescription(
                name: BucketName(name),
                checksum: Checksum(bucket.checksum),
                priority: Priority(bucket.priority),
                count: countsOperations ? Int64(bucket.operations.count) : nil,
                reasons: reasons
            )
        }
    }

    // MARK: - Changes

    /// Writes some rows, and rarely compacts a bucket or gives it another priority.
    mutating func change(using random: inout SeededGenerator) {
        for _ in 0...random.number(below: 3) {
            let index = random.number(below: buckets.count)
            lastOpID += Int64(1 + random.number(below: 2))
            write(toBucketAt: index, using: &random)
            guard buckets[index].operations.last?.kind == .clear else { continue }
            lastOpID += 1
            write(toBucketAt: index, using: &random)
        }
        let index = random.number(below: buckets.count)
        if random.number(below: 6) == 0 { buckets[index].compact() }
        if random.number(below: 20) == 0 { buckets[index].priority = Int32(random.number(below: 4)) }
    }

    /// Writes a row of one bucket.
    mutating func write(to name: String, using random: inout SeededGenerator) {
        guard let index = buckets.firstIndex(where: { $0.name == name }) else { return }
        lastOpID += 1
        write(toBucketAt: index, using: &random)
    }

    /// Puts one row into buckets, into one after the other.
    mutating func putOneRow(into names: [String], using random: inout SeededGenerator) {
        let row = row(using: &random)
        for name in names {
            guard let index = buckets.firstIndex(where: { $0.name == name }) else { continue }
            lastOpID += 1
            buckets[index].operations.append(put(row, using: &random))
        }
    }

    /// Removes the row that was put into a bucket last.
    mutating func removeLastRow(of name: String, using random: inout SeededGenerator) {
        guard let index = buckets.firstIndex(where: { $0.name == name }),
            let last = buckets[index].operations.last(where: { $0.kind == .put }), let id = last.id
        else { return }
        lastOpID += 1
        let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
        var operation = Operation.remove(lastOpID, id, checksum, type: last.type ?? "")
        operation.subkey = last.subkey
        buckets[index].operations.append(operation)
    }

    private mutating func write(toBucketAt index: Int, using random: inout SeededGenerator) {
        buckets[index].operations.append(operation(using: &random))
    }

    private func operation(using random: inout SeededGenerator) -> Operation {
        let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
        let row = row(using: &random)
        var operation: Operation
        // Rows that begin anew below the position of the client are easily taken for published ones.
        let mayBeginAnew = announcedOpID > lastOpID && random.number(below: 4) == 0
        switch mayBeginAnew ? 0 : random.number(below: 20) {
        case 0: return .clear(lastOpID, checksum)
        case 1: return .move(lastOpID, checksum)
        case 2: return .put(lastOpID, nil, checksum)
        case 3...7: operation = .remove(lastOpID, row.id, checksum, type: row.type)
        case 8: operation = .put(lastOpID, row.id, checksum, type: row.type, data: nil)
        default: return put(row, using: &random)
        }
        operation.subkey = row.subkey
        return operation
    }

    private func put(_ row: RowName, using random: inout SeededGenerator) -> Operation {
        let checksum = UInt32.random(in: 0...UInt32.max, using: &random)
        var operation = Operation.put(
            lastOpID,
            row.id,
            checksum,
            type: row.type,
            data: #"{"col":"\#(lastOpID)"}"#
        )
        operation.subkey = row.subkey
        return operation
    }

    private typealias RowName = (type: String, id: String, subkey: String?)

    /// Few rows; some of them have the same key although they differ.
    private func row(using random: inout SeededGenerator) -> RowName {
        let id = String(random.number(below: 2))
        if rows == .one, random.number(below: 4) > 0 { return ("items", "0", nil) }
        switch random.number(below: rows == .ofOneKey ? 4 : 20) {
        case 0: return ("r", "s/t", nil)
        case 1: return ("r/s", "t", nil)
        case 2: return ("r", "s", "t/null")
        case 3, 4: return ("other", id, nil)
        case 5, 6, 7: return ("notes", id, nil)
        case 8, 9: return ("items", id, #""s""#)
        default: return ("items", id, nil)
        }
    }
}

extension ModelService.Bucket {
    /// Does what compacting does: superseded rows become MOVE, and what begins the bucket without a row becomes one CLEAR.
    fileprivate mutating func compact() {
        for index in operations.indices where operations[index].kind == .put && operations[index].id != nil {
            let later = operations[(index + 1)...]
            let isSuperseded = later.contains {
                $0.kind == .clear || $0.id != nil && $0.key == operations[index].key
            }
            guard isSuperseded else { continue }
            operations[index] = .move(operations[index].opID, operations[index].checksum)
        }
        let empty = operations.prefix { $0.kind != .put }
        guard let last = empty.last, empty.count > 1 else { return }
        let sum: UInt32 = empty.reduce(0) { $1.kind == .clear ? $1.checksum : $0 &+ $1.checksum }
        operations.replaceSubrange(..<empty.endIndex, with: [.clear(last.opID, sum)])
    }
}

extension Operation {
    /// What makes two operations of a bucket speak of the same thing.
    fileprivate var key: String {
        "\(type ?? "")/\(id ?? "")/\(subkey ?? "null")"
    }
}
