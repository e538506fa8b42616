import PowerSyncServiceCore
import Testing

@testable import PowerSyncServiceMySQL

/// Positions in the binary log, as texts.
@Suite struct LogPositionTests {
    @Test func aPositionIsATextOfFixedWidth() {
        let position = LogPosition(file: 42, offset: 0x4D2, stamp: 0x6A85_12CA)
        #expect(position.lsn.rawValue == "0000-0000000042-0000000004D2-6A8512CA")
        #expect(LogPosition(position.lsn) == position)
        let largest = LogPosition(file: LogFileName.maximumNumber, offset: (1 << 48) - 1, stamp: .max)
        #expect(largest.lsn.rawValue == "0000-2147483647-FFFFFFFFFFFF-FFFFFFFF")
        #expect(LogPosition(largest.lsn) == largest)
        #expect(position.lsn.hasForm(of: largest.lsn))
    }

    @Test func positionsOrderAsTheLogDoes() {
        let positions = [
            LogPosition(file: 9, offset: 0xFF, stamp: 7), LogPosition(file: 9, offset: 0x100, stamp: 7),
            LogPosition(file: 9, offset: 5 << 32, stamp: 7), LogPosition(file: 10, offset: 4, stamp: 1),
            LogPosition(file: 100, offset: 4, stamp: 3),
        ]
        #expect(positions.sorted() == positions)
        #expect(positions.map(\.lsn).sorted() == positions.map(\.lsn))
    }

    @Test(arguments: [
        "", "00000000/9FFFFFFF", "0000-0000000042-0000000004D2", "0000-0000000042-0000000004D2-6A8512CA-0",
        "0001-0000000042-0000000004D2-6A8512CA", "0000-42-0000000004D2-6A8512CA",
        "0000-0000000042-0000000004d2-6A8512CA",
        "0000-+000000042-0000000004D2-6A8512CA", "0000-4294967295-0000000004D2-6A8512CA",
    ])
    func whatHasAnotherFormIsNoPosition(_ text: String) {
        #expect(LogPosition(LSN(text)) == nil)
    }

    @Test func aFileHasANameAndANumber() throws {
        let name = try #require(LogFileName("my.bin-log.000042"))
        #expect(name == LogFileName(base: "my.bin-log", number: 42))
        #expect(name.description == "my.bin-log.000042")
        #expect(LogFileName("binlog.1234567")?.description == "binlog.1234567")
        for other in [
            "binlog", "binlog.", "binlog.42", "binlog.00004x", ".000001", "/var/binlog.000001", "b.2147483648",
        ] {
            #expect(LogFileName(other) == nil, "\(other)")
        }
    }

    @Test func aTransactionIsBeforeThePositionsBehindItsBegin() {
        let moment = LogMoment(file: 7, start: 100)
        #expect(LogMoment(moment.moment) == moment)
        #expect(!moment.isBefore(LogPosition(file: 6, offset: 900, stamp: 0)))
        #expect(!moment.isBefore(LogPosition(file: 7, offset: 100, stamp: 0)))
        #expect(moment.isBefore(LogPosition(file: 7, offset: 101, stamp: 0)))
        #expect(moment.isBefore(LogPosition(file: 8, offset: 4, stamp: 0)))
        // Where 24 bits of the number end.
        let last = LogMoment(file: (1 << 24) - 1, start: 100)
        #expect(last.isBefore(LogPosition(file: 1 << 24, offset: 4, stamp: 0)))
        #expect(!LogMoment(file: 1 << 24, start: 100).isBefore(LogPosition(file: (1 << 24) - 1, offset: 200, stamp: 0)))
        let late = LogMoment(LogMoment(file: LogFileName.maximumNumber, start: 100).moment)
        #expect(late.isBefore(LogPosition(file: LogFileName.maximumNumber, offset: 200, stamp: 0)))
        #expect(!late.isBefore(LogPosition(file: LogFileName.maximumNumber, offset: 100, stamp: 0)))
    }
}
