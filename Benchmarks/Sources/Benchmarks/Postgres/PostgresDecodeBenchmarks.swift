import NIOCore
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres

/// Decoding messages of a PostgreSQL server into rows, without a server: 300,000 updates of a row with eight columns.
///
/// The floor copies the same bytes once.
enum PostgresDecodeBenchmarks {
    private static let columns: [(type: PostgresOID, text: String)] = [
        (2950, "0a0b0c0d-0000-4000-8000-00000000ffff"), (25, "somebody@example.com"), (23, "123456"), (16, "t"),
        (1184, "2024-03-01 12:00:00.123456+00"), (1700, "12.50"), (701, "0.30000000000000004"),
        (3802, #"{"title": "A title of some length", "tags": ["a", "b", "c"], "done": false}"#),
    ]

    /// Runs all cases.
    static func run() throws {
        let count = 300_000
        let message = update()
        let messages = (0..<count).map { _ in message }
        let decoders = columns.map {
            PostgresValueDecoder($0.type, in: PostgresTypeRegistry(), options: SourceValueOptions())
        }
        let layout = RowLayout(columns.indices.map { "column\($0)" })
        let floor = Measurement.best(of: 3, prepare: { ByteBuffer() }) { buffer in
            var buffer = buffer
            for message in messages { buffer.writeImmutableBuffer(message) }
        }
        let floors = [("copying the bytes", floor.rate(of: count))]

        let skipped = try Measurement.best(of: 3, prepare: {}) {
            for message in messages { _ = try PgoutputMessage(decoding: message) }
        }
        Report.line("postgres.messages.300k_updates", ours: skipped.rate(of: count), floors: floors)

        let decoded = try Measurement.best(of: 3, prepare: {}) {
            for message in messages {
                guard case .update(_, _, let new) = try PgoutputMessage(decoding: message) else { continue }
                var values: [SQLValue] = []
                values.reserveCapacity(new.count)
                var problem: PostgresValueProblem?
                new.forEachColumn { position, column in
                    guard case .text(let text) = column else { return values.append(.null) }
                    values.append(decoders[position].value(of: text, problem: &problem))
                }
                precondition(problem == nil && values.count == columns.count)
                _ = SourceRow(layout: layout, values: values)
            }
        }
        Report.line("postgres.rows.300k_updates", ours: decoded.rate(of: count), floors: floors)
    }

    private static func update() -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt8(ascii: "U"))
        bytes.writeInteger(UInt32(16_400))
        bytes.writeInteger(UInt8(ascii: "N"))
        bytes.writeInteger(Int16(columns.count))
        for column in columns {
            bytes.writeInteger(UInt8(ascii: "t"))
            bytes.writeInteger(Int32(column.text.utf8.count))
            bytes.writeString(column.text)
        }
        return bytes
    }
}
