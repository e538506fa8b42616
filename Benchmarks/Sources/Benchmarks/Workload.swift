import NIOCore
import PowerSyncProtocol

/// The rows of a first sync: two tables, random UUID ids, about 217 bytes of JSON a row (design 6).
struct Workload {
    /// One row to sync.
    struct Row {
        var table: String
        var id: String
        var owner: String
        var number: Int
        var title: String
        /// The JSON of the row, with `done` besides these values.
        var data: String
        var bucket: Int
        var checksum: Checksum

        /// The subkey of the row's operations.
        var subkey: String { "5b2b4a0e-7b63-5b0d-9f0e-5a1f7f0d7c11/" + id }
        /// The key of the row's operation in `ps_oplog`.
        var key: String { "\(table)/\(id)/\(subkey)" }
    }

    /// The rows in the order of their op ids, which start from 1.
    ///
    /// Buckets follow one after the other.
    let rows: [Row]
    /// The number of buckets; rows are spread evenly.
    let bucketCount: Int

    /// Generates a workload.
    init(rows count: Int, buckets: Int) {
        bucketCount = buckets
        rows = Array(Self.makeRows(count, buckets: buckets))
    }

    /// The name of a bucket.
    static func bucketName(_ index: Int) -> BucketName {
        BucketName("1#bench|0[\(index)]")
    }

    /// The lines of a first sync: a checkpoint, data lines of up to 1,000 operations, a completion.
    ///
    /// With several priorities each of them has its share of the buckets, and all but the last one end in a partial
    /// completion.
    func lines(priorities: Int = 1) -> [SyncLine] {
        var lines: [SyncLine] = []
        Self.forEachLine(of: rows, buckets: bucketCount, priorities: priorities) { lines.append($0) }
        return lines
    }

    /// The same lines one after the other, with no more than one of them in memory.
    static func forEachLine(rows: Int, buckets: Int, _ body: (SyncLine) throws -> Void) rethrows {
        try forEachLine(of: makeRows(rows, buckets: buckets), buckets: buckets, body)
    }

    private static func forEachLine(
        of rows: some Sequence<Row>,
        buckets: Int,
        priorities: Int = 1,
        _ body: (SyncLine) throws -> Void
    ) rethrows {
        func priority(_ bucket: Int) -> Priority {
            Priority(Priority.default.rawValue - Int32(priorities - 1 - bucket * priorities / buckets))
        }
        var sums = [Checksum](repeating: .zero, count: buckets)
        var counts = [Int64](repeating: 0, count: buckets)
        for row in rows {
            sums[row.bucket] += row.checksum
            counts[row.bucket] += 1
        }
        let last = OpID(counts.reduce(0, +))
        let descriptions = (0..<buckets).map { index in
            BucketDescription(
                name: bucketName(index),
                checksum: sums[index],
                priority: priority(index),
                count: counts[index]
            )
        }
        try body(.checkpoint(Checkpoint(lastOpID: last, buckets: descriptions)))
        var line: DataLine?
        var lastPriority = priority(0)
        for (index, row) in rows.enumerated() {
            let name = bucketName(row.bucket)
            if let full = line, full.bucket != name || full.operations.count == 1_000 {
                try body(.data(full))
                line = nil
            }
            if priority(row.bucket) != lastPriority {
                try body(.partialCheckpointComplete(PartialCheckpointComplete(lastOpID: last, priority: lastPriority)))
                lastPriority = priority(row.bucket)
            }
            var current = line ?? DataLine(bucket: name)
            line = nil
            current.append(
                .put,
                opID: OpID(Int64(index + 1)),
                checksum: row.checksum,
                objectType: row.table,
                objectID: row.id,
                subkey: row.subkey,
                data: row.data
            )
            line = current
        }
        if let line {
            try body(.data(line))
        }
        try body(.checkpointComplete(CheckpointComplete(lastOpID: last)))
    }

    /// The rows one after the other, the same ones each time.
    private static func makeRows(_ count: Int, buckets: Int) -> some Sequence<Row> {
        let characters = Array("abcdefghijklmnopqrstuvwxyz 0123456789")
        return sequence(state: (index: 0, random: SplitMix64(seed: 42))) { state -> Row? in
            guard state.index < count else { return nil }
            defer { state.index += 1 }
            let id = uuid(&state.random)
            let text = String((0..<110).map { _ in characters[Int(state.random.next() % UInt64(characters.count))] })
            let owner = "user-\(state.random.next() % 1000)"
            return Row(
                table: state.index % 2 == 0 ? "lists" : "todos",
                id: id,
                owner: owner,
                number: state.index,
                title: text,
                data: #"{"id":"\#(id)","owner":"\#(owner)","number":\#(state.index),"title":"\#(text)","done":0}"#,
                bucket: state.index * buckets / count,
                checksum: Checksum(UInt32(truncatingIfNeeded: state.random.next()))
            )
        }
    }

    private static func uuid(_ random: inout SplitMix64) -> String {
        let digits = Array("0123456789abcdef")
        var text = ""
        for position in 0..<32 {
            if position == 8 || position == 12 || position == 16 || position == 20 {
                text.append("-")
            }
            text.append(digits[Int(random.next() % 16)])
        }
        return text
    }
}
