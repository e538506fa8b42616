import MySQLBinlog
import NIOCore
import TestSupport
import Testing

/// Images of rows.
@Suite struct RowsTests {
    private static let columns = [
        ColumnDescription(name: "id", type: MySQLColumnType(.integer(bytes: 4))),
        ColumnDescription(name: "a", type: MySQLColumnType(.varchar(length: 10)), charset: .utf8mb4),
        ColumnDescription(name: "b", type: MySQLColumnType(.integer(bytes: 1))),
    ]
    /// Of the table s.t, number 5, with these columns.
    private static let map: [UInt8] = [5, 0, 0, 0, 0, 0, 1, 0, 1, 115, 0, 1, 116, 0, 3, 3, 15, 1, 2, 40, 0, 6]

    private static func rows(
        _ type: BinlogEventType,
        _ body: [UInt8],
        _ columns: [ColumnDescription] = columns
    ) throws -> [RowChange] {
        var bytes = EventBytes()
        var decoder = BinlogDecoder(file: "binlog.000001", offset: 4, checksum: .crc32)
        let events = try [
            bytes.format(), bytes.event(.tableMap, map), bytes.event(type, [5, 0, 0, 0, 0, 0, 1, 0, 2, 0] + body),
        ]
        .flatMap { try decoder.decode($0) }
        guard case .rows(let rows) = events[2].body, let map = rows.map else { return [] }
        var reader = try rows.rows(RowLayout(map, columns) { _ in nil })
        var changes: [RowChange] = []
        while let change = try reader.next() { changes.append(change) }
        return changes
    }

    @Test func anInsertHasImagesAfter() throws {
        let changes = try Self.rows(.writeRows, [3, 7, 0, 1, 0, 0, 0, 1, 120, 9, 6, 2, 0, 0, 0])
        #expect(changes.count == 2)
        #expect(changes[0] == RowChange(before: nil, after: [.integer(1), .text("x"), .integer(9)]))
        #expect(changes[1] == RowChange(before: nil, after: [.integer(2), .null, .null]))
    }

    @Test func anUpdateHasWhatIsPresentInEachImage() throws {
        let changes = try Self.rows(.updateRows, [3, 1, 4, 0, 1, 0, 0, 0, 0, 8])
        #expect(changes == [RowChange(before: [.integer(1), nil, nil], after: [nil, nil, .integer(8)])])
    }

    @Test func aDeleteHasImagesBefore() throws {
        let changes = try Self.rows(.deleteRows, [3, 5, 2, 1, 0, 0, 0])
        #expect(changes == [RowChange(before: [.integer(1), nil, .null], after: nil)])
    }

    @Test func columnsThatAreNotReadAreNotThere() throws {
        var columns = Self.columns
        columns[1].isRead = false
        let changes = try Self.rows(.writeRows, [3, 7, 0, 1, 0, 0, 0, 1, 120, 9, 2, 2, 0, 0, 0, 8], columns)
        #expect(changes.map(\.after) == [[.integer(1), nil, .integer(9)], [.integer(2), nil, .integer(8)]])
    }

    @Test func anErrorNamesTheColumn() throws {
        let error = #expect(throws: BinlogError.self) { try Self.rows(.writeRows, [3, 7, 0, 1, 0, 0, 0, 200, 120]) }
        #expect(error?.column == 1)
        #expect(
            "\(try #require(error))"
                == "WRITE_ROWS (30) in binlog.000001 at 301, column 2, length: the number 200 cannot be"
        )
    }

    @Test func imagesWithoutColumnsAreAnErrorIfSomethingIsThere() throws {
        #expect(try Self.rows(.writeRows, [3, 0]) == [])
        #expect(throws: BinlogError.self) { try Self.rows(.writeRows, [3, 0, 1]) }
    }

    @Test func anotherNumberOfColumnsThanTheTableHasIsAnError() throws {
        let error = #expect(throws: BinlogError.self) { try Self.rows(.writeRows, [2, 3, 0]) }
        #expect(error?.reason == .columnCount(2, expected: 3))
    }

    // MARK: Layouts

    struct Misfit: CustomTestStringConvertible, Sendable {
        var what: String
        var columns: [ColumnDescription]
        var misfit: RowLayout.Misfit?

        var testDescription: String { what }
    }

    private static func with(
        _ index: Int,
        _ kind: MySQLColumnType.Kind,
        isUnsigned: Bool = false
    ) -> [ColumnDescription] {
        var columns = columns
        columns[index].type = MySQLColumnType(kind, isUnsigned: isUnsigned)
        return columns
    }

    static let misfits = [
        Misfit(what: "the same", columns: columns, misfit: nil),
        Misfit(what: "a longer text", columns: with(1, .varchar(length: 500)), misfit: nil),
        Misfit(
            what: "without a sign, of which the log does not tell",
            columns: with(0, .integer(bytes: 4), isUnsigned: true),
            misfit: nil
        ),
        Misfit(what: "fewer", columns: Array(columns.dropLast()), misfit: .columnCount(3, expected: 2)),
        Misfit(what: "a larger integer", columns: with(0, .integer(bytes: 8)), misfit: .column(0)),
        Misfit(what: "a date", columns: with(2, .date), misfit: .column(2)),
        Misfit(what: "a long text", columns: with(1, .text), misfit: .column(1)),
    ]

    @Test(arguments: misfits)
    func aLayoutThatIsNotThatOfTheLogIsRefused(_ test: Misfit) throws {
        var bytes = EventBytes()
        var decoder = BinlogDecoder(file: "binlog.000001", offset: 4, checksum: .crc32)
        let events = try [bytes.format(), bytes.event(.tableMap, Self.map)].flatMap { try decoder.decode($0) }
        guard case .tableMap(let map) = events[1].body else { return }
        if let misfit = test.misfit {
            #expect(throws: misfit) { try RowLayout(map, test.columns) { _ in nil } }
        } else {
            _ = try RowLayout(map, test.columns) { _ in nil }
        }
    }
}
