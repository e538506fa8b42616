import MySQLBinlog
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceMySQL

/// A source over a database of its own: what it copies, what it reads by keys, and what the log has.
///
/// The source is closed with the last reference to the fixture: what it has locked would keep the database from being dropped.
final class MySQLFixture: Sendable {
    let database: TestMySQLDatabase
    let source: MySQLSource

    /// Makes a database.
    ///
    /// - Parameters:
    ///   - server: That of `scripts/with-mysql` if there is none.
    ///   - clock: The source's.
    ///   - statements: Make its tables.
    /// - Throws: ``TestMySQL/Failure``, or an error of the server.
    init(
        server: TestMySQL? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        _ statements: String...
    ) async throws {
        database = try await TestMySQLDatabase(server: server)
        for statement in statements { try await database.run(statement) }
        source = Self.source(database, clock: clock)
    }

    deinit {
        try? source.close()
    }

    private static func source(_ database: TestMySQLDatabase, clock: any Clock<Duration>) -> MySQLSource {
        MySQLSource(
            MySQLSettings(uri: database.uri),
            connecting: database.settings,
            clock: clock,
            logger: TestMySQL.logger
        )
    }

    /// Another process over the same database.
    func restarted(clock: any Clock<Duration> = ContinuousClock()) -> MySQLSource {
        Self.source(database, clock: clock)
    }

    /// A plan that reads tables.
    static func plan(_ tables: [String], options: String = "") throws -> SyncPlan {
        let queries = tables.map { "      - 'SELECT * FROM \"\($0)\"'\n" }.joined()
        return try ServiceTestSupport.plan(
            "config:\n  edition: 3\n\(options)streams:\n  all:\n    auto_subscribe: true\n    queries:\n\(queries)"
        )
    }

    /// The table with a name.
    func table(_ name: String = "t", options: String = "") async throws -> SourceTableDescriptor {
        try #require(try await source.tables(for: Self.plan([name], options: options)).first)
    }

    // MARK: Copies

    /// Reads a copy to its end.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - key: Where it goes on.
    ///   - range: The most rows of a transaction.
    ///   - after: Runs after each chunk.
    /// - Returns: The chunks, from the one without rows on.
    /// - Throws: What the reader throws.
    func chunks(
        of table: SourceTableDescriptor,
        after key: SnapshotKey? = nil,
        range: Int = MySQLSnapshotReader.maximumRowsOfRange,
        _ after: (_ count: Int) async throws -> Void = { _ in }
    ) async throws -> [SnapshotChunk] {
        var reader = MySQLSnapshotReader(
            of: source,
            descriptor: table,
            connection: try await database.open(),
            position: key.flatMap { MySQLCopyPosition($0) },
            rangeLimit: range
        )
        var chunks: [SnapshotChunk] = []
        while let chunk = try await reader.next() {
            chunks.append(chunk)
            try await after(chunks.count)
        }
        return chunks
    }

    /// The rows of a copy.
    func copied(_ table: SourceTableDescriptor) async throws -> [SourceRow] {
        try await chunks(of: table).flatMap(\.rows)
    }

    // MARK: The log

    /// The position of the log.
    func position() async throws -> LogPosition {
        try #require(LogPosition(try await source.log.head().lsn))
    }

    /// The rows that were inserted into a table since a position, as the log has them; `nil` for a row that has to be read by its key.
    func inserted(
        into descriptor: SourceTableDescriptor,
        since start: LogPosition
    ) async throws -> [(row: SourceRow?, key: [SQLValue]?)] {
        let connection = try await database.open()
        defer { connection.close() }
        let rows = try await connection.query("SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS").rows
        let charsets = Dictionary(
            rows.compactMap { row in
                row.integer("ID").flatMap { id in row.string("CHARACTER_SET_NAME").map { (UInt32(id), $0) } }
            }
        ) { first, _ in first }
        let table = try await source.form(of: descriptor, connection).table
        let options = descriptor.valueOptions ?? SourceValueOptions()
        let logged = LoggedRows(table, form: MySQLValueForm(options), readColumns: nil, referencedColumns: [])
        let base = try await connection.logEnd().file.base
        let file = LogFileName(base: base, number: start.file).description
        let checksum = try await connection.logChecksum()
        let request = BinlogRequest(file: file, position: UInt32(start.offset), waits: false)
        return try await connection.withBinlog(request) { packets in
            var decoder = BinlogDecoder(file: file, offset: start.offset, checksum: checksum)
            var found: [(row: SourceRow?, key: [SQLValue]?)] = []
            while let packet = try await packets.next() {
                try decoder.append(packet)
                while let event = try decoder.next() {
                    guard case .rows(let rows) = event.body, rows.kind == .insert, let map = rows.map,
                        map.schema == table.name.schema, map.table == table.name.name
                    else { continue }
                    let layout = try MySQLBinlog.RowLayout(map, logged.descriptions) { id in
                        charsets[id].map { MySQLCharset(name: $0) }
                    }
                    var reader = try rows.rows(layout)
                    while let change = try reader.next() {
                        let cells = try #require(change.after)
                        found.append((logged.row(cells), logged.key(cells)))
                    }
                }
            }
            return found
        }
    }

    /// The rows that were inserted into a table since a position, those read by their keys that have to be.
    func streamed(into table: SourceTableDescriptor, since start: LogPosition) async throws -> [SourceRow] {
        var rows: [SourceRow] = []
        for (row, key) in try await inserted(into: table, since: start) {
            if let row {
                rows.append(row)
            } else {
                let key = try #require(key, "a key that has to be read")
                rows += try await source.rows(of: table, keys: [key], showing: []).rows
            }
        }
        return rows
    }
}
