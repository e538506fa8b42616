import MySQLBinlog
import NIOCore

/// The rows of tables by their first column, as the events of a log leave them.
struct Replay {
    /// The cells of each row; `nil` for one that the log does not tell.
    private(set) var rows: [String: [MySQLCell: [MySQLCell?]]] = [:]
    /// What was decoded.
    private(set) var events: [BinlogEvent] = []

    private let tables: [String: RecordedLog.Table]
    private var layouts: [ObjectIdentifier: RowLayout] = [:]

    /// Replays a log.
    init(_ log: RecordedLog) throws {
        tables = try log.tables()
        var decoder = BinlogDecoder(file: "binlog.000001", offset: 4, checksum: .crc32)
        for bytes in try log.events() {
            try decoder.append(bytes)
            while let event = try decoder.next() { try take(event) }
        }
    }

    private mutating func take(_ event: BinlogEvent) throws {
        events.append(event)
        guard case .rows(let rows) = event.body, let map = rows.map, let table = tables[map.table] else { return }
        // Another layout than at the end, before an ALTER.
        guard map.columns.count == table.columns.count else { return }
        let layout = try layouts[ObjectIdentifier(map)] ?? RowLayout(map, table.columns, charset: RecordedLog.charset)
        layouts[ObjectIdentifier(map)] = layout
        var reader = try rows.rows(layout)
        while let change = try reader.next() { apply(change, to: map.table) }
    }

    private mutating func apply(_ change: RowChange, to table: String) {
        var row = [MySQLCell?](repeating: nil, count: tables[table]?.columns.count ?? 0)
        if let before = change.before, let key = before[0] {
            if let known = rows[table, default: [:]].removeValue(forKey: key) { row = known }
            for (index, cell) in before.enumerated() {
                if let cell { row[index] = cell }
            }
        }
        guard let after = change.after else { return }
        for (index, cell) in after.enumerated() {
            if let cell { row[index] = cell }
        }
        if let key = row[0] { rows[table, default: [:]][key] = row }
    }
}

extension MySQLCell {
    /// The value as `SELECT` printed it; `nil` for `NULL`, and for a cell that is to be read.
    var printed: String? {
        switch self {
        case .null, .deferred: nil
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        // Seven digits are those of the number as a double.
        case .float(let number): "\(Double(number))"
        case .double(let number): "\(number)"
        case .decimal(let text), .text(let text), .label(let text), .json(let text): text
        case .date(let date): "\(date)"
        case .dateTime(let time): "\(time)"
        case .time(let time): "\(time)"
        case .bytes(let bytes):
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined().uppercased()
        case .labels(let labels): labels.joined(separator: ",")
        }
    }

    var isDeferred: Bool {
        if case .deferred = self { return true }
        return false
    }
}
