import PowerSyncCoreTestSupport
import PowerSyncProtocol

@testable import PowerSyncCore

/// What a client must show after the lines of a stream; made for clearness, and shares nothing with the client but the repair of
/// rows that are not JSON.
///
/// Assumes that every row is in one bucket.
struct ExpectedView {
    /// What the client has of one bucket.
    fileprivate struct Bucket {
        var live: [String: (opID: OpID, row: String, value: String?)] = [:]
        var checksum = Checksum.zero
    }

    /// The rows of the view, as JSON.
    private(set) var rows: [String: String]
    /// Whether the client has given the stream up.
    private(set) var isEnded = false
    private let hasLocalWrites: Bool
    private var buckets: [BucketName: Bucket] = [:]
    private var checkpoint: [BucketName: BucketDescription]?

    /// - Parameter localRows: Rows, as JSON, that the client has written and cannot upload.
    init(localRows: [String: String] = [:]) {
        rows = localRows
        hasLocalWrites = !localRows.isEmpty
    }

    /// The client received a line.
    mutating func receive(_ line: SyncLine) {
        guard !isEnded else { return }
        switch line {
        case .checkpoint(let line):
            let new = Dictionary(line.buckets.map { ($0.name, $0) }) { $1 }
            for name in (checkpoint ?? [:]).keys where new[name] == nil { buckets[name] = nil }
            checkpoint = new
        case .checkpointDiff(let line):
            guard checkpoint != nil else { return isEnded = true }
            for name in line.removedBuckets {
                checkpoint?[name] = nil
                buckets[name] = nil
            }
            for bucket in line.updatedBuckets { checkpoint?[bucket.name] = bucket }
        case .data(let line):
            for operation in line.operations { buckets[line.bucket, default: Bucket()].receive(operation, line) }
        case .partialCheckpointComplete(let line):
            complete(line.priority)
        case .checkpointComplete:
            complete(nil)
        case .keepalive(let seconds):
            isEnded = seconds <= 0
        case .unknown:
            break
        }
    }

    private mutating func complete(_ priority: Priority?) {
        guard let checkpoint else { return isEnded = true }
        let involved = checkpoint.values.filter { bucket in
            priority.map { bucket.priority.rawValue <= $0.rawValue } ?? true
        }
        let damaged = involved.filter { $0.checksum != buckets[$0.name]?.checksum ?? .zero }
        guard damaged.isEmpty else {
            for bucket in damaged { buckets[bucket.name] = nil }
            return isEnded = true
        }
        guard !hasLocalWrites || priority?.rawValue == 0 else { return }
        // Only a complete checkpoint takes rows away, and it looks at all buckets.
        if priority == nil { rows = [:] }
        let names = priority == nil ? Array(buckets.keys) : involved.map(\.name)
        var newest: [String: (opID: OpID, row: String, value: String?)] = [:]
        for entry in names.compactMap({ buckets[$0] }).flatMap(\.live.values) {
            if let other = newest[entry.row], other.opID > entry.opID { continue }
            newest[entry.row] = entry
        }
        for entry in newest.values { rows[entry.row] = entry.value.map(Self.readable) }
    }

    /// Damage within a line can leave a row that is not JSON, which is shown as what it means, or without values.
    private static func readable(_ text: String) -> String {
        guard (try? ExactJSON(parsing: text)) == nil else { return text }
        var text = text
        let repaired = text.withUTF8 { JSONRepair.repaired(UnsafeRawBufferPointer($0), infinities: .numbers) }
        return String(decoding: repaired ?? Array("{}".utf8), as: UTF8.self)
    }
}

extension ExpectedView.Bucket {
    fileprivate mutating func receive(_ operation: SyncOperation, _ line: DataLine) {
        checksum += operation.checksum
        let row = operation.objectID.map { line.string($0) }
        let key = "\(row ?? "") \(operation.subkey.map { line.string($0) } ?? "")"
        switch operation.kind {
        case .put:
            guard let row, operation.objectType.map({ line.string($0) }) == "lists" else { break }
            live[key] = (operation.opID, row, operation.data.map { line.string($0) })
        case .remove:
            live[key] = nil
        case .move:
            break
        case .clear:
            live = [:]
            checksum = operation.checksum
        }
    }
}
