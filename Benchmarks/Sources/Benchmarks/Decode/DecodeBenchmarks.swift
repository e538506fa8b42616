import NIOCore
import PowerSyncProtocol

/// Splitting and decoding a first sync of 100 k rows, as it comes from the network in pieces of 64 KiB.
///
/// The floor copies the same bytes once.
enum DecodeBenchmarks {
    /// Runs all cases.
    static func run() throws {
        let rows = 100_000
        let lines = Workload(rows: rows, buckets: 10).lines()
        for format in [SyncLineFormat.bson, .ndjson] {
            var bytes = ByteBuffer()
            for line in lines {
                line.encode(as: format, into: &bytes)
            }
            let pieces = split(bytes, into: 64 * 1024)
            let ours = try Measurement.best(of: 5, prepare: { SyncLineReader(format: format) }) { reader in
                var reader = reader
                var operations = 0
                for piece in pieces {
                    reader.append(piece)
                    while let received = try reader.next() {
                        if case .data(let line) = received.line {
                            operations += line.operations.count
                        }
                    }
                }
                precondition(operations == rows, "decoded \(operations) operations")
            }
            let floor = Measurement.best(of: 5, prepare: { ByteBuffer() }) { buffer in
                var buffer = buffer
                for piece in pieces {
                    buffer.writeImmutableBuffer(piece)
                }
                precondition(buffer.readableBytes == bytes.readableBytes)
            }
            Report.line(
                "decode.\(format == .bson ? "bson" : "ndjson").100k_rows",
                ours: ours.rate(of: rows),
                floors: [("copying the bytes", floor.rate(of: rows))]
            )
        }
    }

    private static func split(_ bytes: ByteBuffer, into size: Int) -> [ByteBuffer] {
        var rest = bytes
        var pieces: [ByteBuffer] = []
        while rest.readableBytes > 0, let piece = rest.readSlice(length: min(size, rest.readableBytes)) {
            // A copy, so that every piece has memory of its own as it has when it comes from a socket.
            pieces.append(ByteBuffer(bytes: piece.readableBytesView))
        }
        return pieces
    }
}
