import NIOCore
import PowerSyncProtocol

/// The rows of a first sync: two tables, random UUID ids, about 217 bytes of JSON a row (design 6).
struct Workload {
    /// One row to sync.
    struct Row {
        var table: String
        var id: String
        var data: String
        var bucket: Int
        var checksum: Checksum
    }

    /// The rows in the order of their op ids, which start from 1.
    ///
    /// Buckets follow one after the other.
    let rows: [Row]
    /// The number of buckets; rows are spread evenly.
    let bucketCount: Int

    /// Generates a workload.
    init(rows count: Int, buckets: Int, seed: UInt64 = 42) {
        var random = SplitMix64(seed: seed)
        bucketCount = buckets
        let filler = "abcdefghijklmnopqrstuvwxyz 0123456789"
        let characters = Array(filler)
        rows = (0..<count).map { index in
            let id = Self.uuid(&random)
            let text = String((0..<110).map { _ in characters[Int(random.next() % UInt64(characters.count))] })
            let data =
                #"{"id":"\#(id)","owner":"user-\#(random.next() % 1000)","number":\#(index),"title":"\#(text)","done":0}"#
            return Row(
                table: index % 2 == 0 ? "lists" : "todos",
                id: id,
                data: data,
                bucket: index * buckets / count,
                checksum: Checksum(UInt32(truncatingIfNeeded: random.next()))
            )
        }
    }

    /// The name of a bucket.
    static func bucketName(_ index: Int) -> BucketName {
        BucketName("1#bench|0[\(index)]")
    }

    /// The lines of a first sync: a checkpoint, data lines of up to 1,000 operations, a completion.
    func lines() -> [SyncLine] {
        var sums = [Checksum](repeating: .zero, count: bucketCount)
        var counts = [Int64](repeating: 0, count: bucketCount)
        var data: [SyncLine] = []
        var line: DataLine?
        for (index, row) in rows.enumerated() {
            sums[row.bucket] += row.checksum
            counts[row.bucket] += 1
            let name = Self.bucketName(row.bucket)
            if let full = line, full.bucket != name || full.operations.count == 1_000 {
                data.append(.data(full))
                line = nil
            }
            var current = line ?? DataLine(bucket: name)
            line = nil
            current.append(
                .put,
                opID: OpID(Int64(index + 1)),
                checksum: row.checksum,
                objectType: row.table,
                objectID: row.id,
                subkey: "5b2b4a0e-7b63-5b0d-9f0e-5a1f7f0d7c11/" + row.id,
                data: row.data
            )
            line = current
        }
        if let line {
            data.append(.data(line))
        }
        let last = OpID(Int64(rows.count))
        let checkpoint = Checkpoint(
            lastOpID: last,
            buckets: (0..<bucketCount).map { index in
                BucketDescription(name: Self.bucketName(index), checksum: sums[index], count: counts[index])
            }
        )
        return [.checkpoint(checkpoint)] + data + [.checkpointComplete(CheckpointComplete(lastOpID: last))]
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
