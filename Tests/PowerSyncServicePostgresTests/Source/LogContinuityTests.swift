import NIOCore
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// Whether a log has what was read of it.
@Suite struct LogContinuityTests {
    private static func begin(_ position: UInt64, at time: Int64) -> PgoutputMessage {
        .begin(
            commit: WALPosition(rawValue: position),
            committedAt: PostgresInstant(rawValue: time),
            transactionID: 1
        )
    }

    private static func commit(_ position: UInt64, at time: Int64) -> PgoutputMessage {
        .commit(
            commit: WALPosition(rawValue: position),
            end: WALPosition(rawValue: position + 8),
            committedAt: PostgresInstant(rawValue: time)
        )
    }

    private static func marker(_ mark: UInt64, _ position: UInt64, prefix: String = "powersync") -> PgoutputMessage {
        .message(
            .init(
                isTransactional: true,
                position: WALPosition(rawValue: position),
                prefix: prefix,
                content: ByteBuffer(string: MarkedPosition.digits(mark))
            )
        )
    }

    /// Transactions, and what is required of them.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var required: [MarkedPosition]
        var messages: [PgoutputMessage]
        /// Which message shows that the log is another one.
        var contradiction: Int?

        init(_ name: String, _ required: [(UInt64, UInt64)], _ messages: [PgoutputMessage], _ contradiction: Int? = nil)
        {
            testDescription = name
            self.required = required.map { MarkedPosition(WALPosition(rawValue: $0.0), mark: $0.1) }
            self.messages = messages
            self.contradiction = contradiction
        }
    }

    private static let two = [begin(16, at: 1), commit(16, at: 1), begin(40, at: 2), commit(40, at: 2)]

    static let cases = [
        Case("nothing is required", [], two),
        Case("the end of a commit", [(24, 1)], two),
        Case("the end of the last commit", [(48, 2)], two),
        Case("the beginning of a commit", [(40, 2)], two),
        Case("a part of a transaction", [(41, 2)], two),
        Case("several", [(24, 1), (41, 2)], two),
        Case("the stream has not come so far", [(100, 7)], two),
        Case("another transaction ends there", [(24, 7)], two, 2),
        Case("the last one ends there, and is another", [(48, 7)], two + [begin(48, at: 9)], 4),
        Case("another transaction begins there", [(40, 7)], two, 2),
        Case("nothing ends there", [(20, 1)], two, 2),
        Case("one of several is missing", [(24, 1), (30, 2)], two, 2),
        Case("a part of a transaction that is another", [(17, 7)], two, 2),
        Case("a marker", [(39, 5)], [begin(30, at: 1), marker(5, 28), commit(30, at: 1), begin(40, at: 2)]),
        Case(
            "a marker in a transaction that is committed after another one",
            [(50, 5)],
            [begin(30, at: 1), commit(30, at: 1), begin(40, at: 2), marker(5, 20), commit(40, at: 2), begin(60, at: 3)]
        ),
        Case("another marker", [(39, 5)], [begin(30, at: 1), marker(6, 28), commit(30, at: 1), begin(40, at: 2)], 3),
        Case("a marker behind", [(39, 5)], [begin(30, at: 1), marker(5, 60), commit(30, at: 1), begin(40, at: 2)], 3),
        Case(
            "somebody else's message",
            [(39, 5)],
            [begin(30, at: 1), marker(5, 28, prefix: "other"), commit(30, at: 1), begin(40, at: 2)],
            3
        ),
    ]

    @Test(arguments: cases)
    func aLogThatHasSomethingElseIsAnotherOne(_ test: Case) {
        var continuity = LogContinuity(test.required)
        let found = test.messages.firstIndex { continuity.add($0) != nil }
        #expect(found == test.contradiction)
    }

    @Test func positionsWithMarksHaveTheOrderOfTheLog() {
        let positions =
            [(1, nil), (1, 0), (1, 7), (1, UInt64.max), (2, nil), (0x1_0000_0000, 3)] as [(UInt64, UInt64?)]
        let texts = positions.map { position, mark in
            let position = WALPosition(rawValue: position)
            return mark.map { MarkedPosition(position, mark: $0).lsn } ?? position.lsn
        }
        #expect(texts.sorted() == texts)
        for ((position, mark), text) in zip(positions, texts) {
            #expect(WALPosition(text)?.rawValue == position)
            #expect(MarkedPosition(text)?.mark == mark)
            #expect(text.unmarked == WALPosition(rawValue: position).lsn)
        }
        for text in ["", "-", "1/2-", "1/2-x", "x-1", "1/2-3-4", "0000000000000001-0000000000000002"] {
            #expect(MarkedPosition(LSN(text)) == nil, "\(text)")
        }
    }

    /// Before it is, the server is not told what it may forget.
    @Test func whatIsRequiredIsShownByItsLastMessage() {
        #expect(LogContinuity().isShown)
        let required = [(24, 1), (48, 2)].map { MarkedPosition(WALPosition(rawValue: $0), mark: $1) }
        var continuity = LogContinuity(required)
        for (index, message) in Self.two.enumerated() {
            #expect(!continuity.isShown, "before message \(index)")
            let contradiction = continuity.add(message)
            #expect(contradiction == nil)
        }
        #expect(continuity.isShown)
    }
}
