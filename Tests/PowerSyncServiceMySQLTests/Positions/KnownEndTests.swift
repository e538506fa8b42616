import MySQLBinlog
import Testing

@testable import PowerSyncServiceMySQL

/// When an answer to "where does the log end" says that the log is another one.
@Suite struct KnownEndTests {
    private static let server = LogServer(flavour: .mysql, identity: "3e11fa47", startedAt: 1000)
    private static let known = MySQLLog.KnownEnd(
        server: server,
        file: LogFileName(base: "binlog", number: 7),
        offset: 500
    )

    @Test(
        arguments: [(7, 500, true), (7, 501, true), (8, 4, true), (7, 499, false), (6, 9000, false)]
            as [(UInt32, UInt64, Bool)]
    )
    func anEndIsNotBeforeOneThatWasKnownBefore(_ file: UInt32, _ offset: UInt64, _ isBehind: Bool) {
        #expect(Self.known.isBehind(LogFileName(base: "binlog", number: file), offset) == isBehind)
    }

    @Test func otherRunsServersAndNamesAreOtherLogs() {
        let file = LogFileName(base: "binlog", number: 7)
        var server = Self.server
        server.startedAt += 2
        #expect(Self.known.isSameLog(as: server, file))
        server.startedAt += 10
        #expect(!Self.known.isSameLog(as: server, file))
        server = Self.server
        server.identity = "other"
        #expect(!Self.known.isSameLog(as: server, file))
        #expect(!Self.known.isSameLog(as: Self.server, LogFileName(base: "log", number: 7)))
    }
}
