import NIOCore
import PowerSyncSyncConfig

@testable import MySQLBinlog
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Events of a log that no server has written: tables have texts only.
struct MadeLog {
    /// The position of ``start``, and those of other offsets.
    static func position(_ offset: UInt64, file: UInt32 = 1) -> LogPosition {
        LogPosition(file: file, offset: offset, stamp: 7)
    }

    /// Where the log begins; each event has 100 bytes.
    static let start: UInt64 = 1000

    private(set) var events: [BinlogEvent] = []
    private var offset = Self.start
    private var maps: [String: TableMap] = [:]

    /// The offset after the last event.
    var end: UInt64 { offset }

    /// Moves the events to other places: the first begins at an offset.
    mutating func move(to start: UInt64) {
        for index in events.indices {
            let begin = start + 100 * UInt64(index)
            events[index].place = BinlogPlace(file: events[index].place.file, start: begin, end: begin + 100)
        }
        offset = start + 100 * UInt64(events.count)
    }

    private mutating func add(_ type: BinlogEventType, _ body: BinlogEvent.Body) {
        let place = BinlogPlace(file: "binlog.000001", start: offset, end: offset + 100)
        offset += 100
        events.append(
            BinlogEvent(
                place: place,
                isInPayload: false,
                isArtificial: false,
                timestamp: 1_700_000_000,
                serverID: 1,
                type: type,
                body: body
            )
        )
    }

    mutating func gtid() { add(.gtid, .gtid(GTIDEvent(gtid: nil, committedAt: 1_700_000_000_500_000))) }

    mutating func mariaDBGTID(_ flags: UInt8 = 0, extra: UInt8 = 0) {
        add(.mariaDBGTID, .mariaDBGTID(MariaDBGTIDEvent(gtid: "0-1-1", flags: flags, extraFlags: extra)))
    }

    mutating func query(_ text: String, schema: String = "app") {
        add(.query, .query(QueryEvent(schema: schema, text: text, errorCode: 0)))
    }

    mutating func formatDescription() {
        let format = FormatDescription(serverVersion: "9.7.4", flavour: .mysql, checksum: .crc32, postHeaderLengths: [])
        add(.formatDescription, .formatDescription(format))
    }

    mutating func xid() { add(.xid, .xid(1)) }

    mutating func prepare(_ name: String, onePhase: Bool = false) {
        add(
            .xaPrepare,
            .xaPrepare(XAPrepareEvent(isOnePhase: onePhase, formatID: 1, globalID: Array(name.utf8), branch: []))
        )
    }

    mutating func skipped() { add(.annotateRows, .skipped) }

    mutating func rotate(to file: String, at position: UInt64 = 4) {
        add(.rotate, .rotate(file: file, position: position))
    }

    mutating func heartbeat(_ file: String, _ position: UInt64) {
        add(.heartbeat, .heartbeat(file: file, position: position))
    }

    /// The beginning and the end of a group of MySQL around events.
    mutating func group(_ body: (inout MadeLog) -> Void) {
        gtid()
        query("BEGIN")
        body(&self)
        xid()
    }

    /// A row: `before` and `after` have a text or `NULL` for each column, and lack those that are not in the log (`missing`).
    mutating func row(
        _ table: String,
        before: [String?]? = nil,
        after: [String?]? = nil,
        missingBefore: Set<Int> = [],
        missingAfter: Set<Int> = [],
        named names: [String]? = nil,
        flags: UInt16 = 0,
        schema: String = "app"
    ) {
        let count = (before ?? after ?? []).count
        let key = "\(schema).\(table) \(count) \(names ?? [])"
        let map =
            maps[key]
            ?? TableMap(
                id: UInt64(maps.count + 1),
                schema: schema,
                table: table,
                columns: (0..<count).map { index in
                    LoggedColumn(
                        type: .varchar,
                        metadata: 400,
                        isUnsigned: nil,
                        collation: nil,
                        name: names?[index],
                        labels: nil
                    )
                }
            )
        maps[key] = map
        add(.tableMap, .tableMap(map))
        var images = ByteBuffer()
        func write(_ values: [String?], missing: Set<Int>) {
            let present = values.enumerated().filter { !missing.contains($0.offset) }.map(\.element)
            var nulls = [UInt8](repeating: 0, count: (present.count + 7) / 8)
            for (place, value) in present.enumerated() where value == nil { nulls[place / 8] |= 1 << UInt8(place % 8) }
            images.writeBytes(nulls)
            for case let value? in present {
                images.writeInteger(UInt16(value.utf8.count), endianness: .little)
                images.writeString(value)
            }
        }
        if let before { write(before, missing: missingBefore) }
        if let after { write(after, missing: missingAfter) }
        let kind: RowsEvent.Kind = before == nil ? .insert : after == nil ? .delete : .update
        let type: BinlogEventType = before == nil ? .writeRows : after == nil ? .deleteRows : .updateRows
        let place = offset
        add(
            type,
            .rows(
                RowsEvent(
                    kind: kind,
                    tableID: map.id,
                    flags: flags,
                    map: map,
                    context: EventContext(event: type, file: "binlog.000001", offset: place),
                    columnCount: count,
                    presentBefore: before.map { _ in ColumnSet((0..<count).map { !missingBefore.contains($0) }) },
                    presentAfter: after.map { _ in ColumnSet((0..<count).map { !missingAfter.contains($0) }) },
                    hasOptions: false,
                    images: images,
                    isCompressed: false
                )
            )
        )
    }
}

extension MySQLTable {
    /// A table of texts, whose first column is the key.
    static func made(_ name: String, columns: [String] = ["id", "name", "note"], key: Key = .primary) -> MySQLTable {
        MySQLTable(
            name: SourceTableName(schema: "app", name: name),
            engine: "InnoDB",
            columns: columns.map { column in
                Column(
                    name: column,
                    type: MySQLColumnType(.varchar(length: 100)),
                    declaration: "varchar(100)",
                    characterSet: "utf8mb4",
                    collation: "utf8mb4_bin",
                    isNullable: column != columns[0]
                )
            },
            key: key,
            identityIndexes: key == .none ? Array(columns.indices) : [0],
            form: ["columns": "\(columns)"]
        )
    }
}

extension FollowedTable {
    static func made(
        _ table: MySQLTable,
        copied: LogPosition? = nil,
        reading columns: Set<String>? = nil,
        isToldByIncarnation: Bool = true
    ) -> FollowedTable {
        var followed = FollowedTable(
            descriptor: table.descriptor(SourceValueOptions()),
            table: table,
            form: MySQLValueForm(SourceValueOptions()),
            readColumns: columns,
            copied: copied,
            isToldByIncarnation: isToldByIncarnation
        )
        followed.isOfStatement = true
        return followed
    }
}
