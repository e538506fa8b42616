import NIOCore
import PowerSyncProtocol
import PowerSyncServicePostgres
import TestSupport
import Testing

/// Nothing that a connection delivers may stop the process.
@Suite struct PgoutputMalformedTests {
    private static let frames = [
        MessageBuilder("w").integer(Int64(1)).integer(Int64(2)).integer(Int64(3)).bytes,
        MessageBuilder("k").integer(Int64(5)).integer(Int64(6)).integer(UInt8(1)).bytes,
    ]

    @Test(arguments: MessageBuilder.examples.map(\.name))
    func everyCutIsAnErrorThatSaysWhere(name: String) throws {
        let bytes = try #require(MessageBuilder.examples.first { $0.name == name }).bytes
        for length in 0..<bytes.readableBytes {
            let cut = try #require(bytes.getSlice(at: bytes.readerIndex, length: length))
            let error = #expect(throws: PgoutputError.self) { try PgoutputMessage(decoding: cut) }
            guard let error else { continue }
            #expect(error.offset <= length)
            #expect(!error.message.isEmpty && !error.field.isEmpty)
            #expect(error.description.contains("at byte \(error.offset)"))
        }
    }

    @Test(arguments: MessageBuilder.examples.map(\.name))
    func bytesLeftOverAreAnError(name: String) throws {
        var bytes = try #require(MessageBuilder.examples.first { $0.name == name }).bytes
        let length = bytes.readableBytes
        bytes.writeInteger(UInt8(0))
        let error = #expect(throws: PgoutputError.self) { try PgoutputMessage(decoding: bytes) }
        #expect(error?.reason == .trailingBytes)
        #expect(error?.offset == length)
    }

    @Test func everyCutOfAFrameIsAnError() throws {
        for frame in Self.frames {
            for length in 0..<frame.readableBytes {
                let cut = try #require(frame.getSlice(at: 0, length: length))
                #expect(throws: PgoutputError.self) { try ReplicationFrame(decoding: cut) }
            }
        }
        var keepalive = Self.frames[1]
        keepalive.writeInteger(UInt8(0))
        #expect(throws: PgoutputError.self) { try ReplicationFrame(decoding: keepalive) }
    }

    @Test func flippedBytesNeverTrap() throws {
        var random = SeededGenerator(seed: 20)
        var decoded = 0
        for _ in 0..<20_000 {
            let position = random.number(below: MessageBuilder.examples.count)
            var bytes = MessageBuilder.examples[position].bytes
            for _ in 0...random.number(below: 3) {
                let offset = random.number(below: bytes.readableBytes)
                bytes.setInteger(UInt8(truncatingIfNeeded: random.next()), at: offset)
            }
            do {
                let message = try PgoutputMessage(decoding: bytes)
                decoded += 1
                for tuple in message.tuples { _ = tuple.texts }
            } catch {
                #expect(error.offset <= bytes.readableBytes)
            }
        }
        // Both happen, so the test tests something.
        #expect((1000..<19_000).contains(decoded))
    }

    @Test func randomBytesNeverTrap() {
        var random = SeededGenerator(seed: 21)
        let kinds = Array("BCORYIUDTMwk".utf8)
        for _ in 0..<20_000 {
            var bytes = ByteBuffer(bytes: [kinds[random.number(below: kinds.count)]])
            for _ in 0..<random.number(below: 60) {
                bytes.writeInteger(UInt8(truncatingIfNeeded: random.next() >> UInt64(random.number(below: 8))))
            }
            if let message = try? PgoutputMessage(decoding: bytes) {
                for tuple in message.tuples { _ = tuple.texts }
            }
            _ = try? ReplicationFrame(decoding: bytes)
        }
    }

    @Test(arguments: [Int32.max, Int32.max - 1, 5])
    func largeLengthsAreErrors(length: Int32) {
        let insert = MessageBuilder("I").integer(UInt32(1)).byte("N").integer(Int16(1)).byte("t").integer(length)
            .raw("1234").bytes
        expect(insert, .tooLarge(length), message: "Insert", field: "new tuple, column 0", offset: 9)
        let message = MessageBuilder("M").integer(UInt8(0)).integer(Int64(0)).string("").integer(length).raw("1234")
            .bytes
        expect(message, .tooLarge(length), message: "Message", field: "content", offset: 11)
        let truncate = MessageBuilder("T").integer(length).integer(UInt8(0)).integer(UInt32(1)).bytes
        expect(truncate, .tooLarge(length), message: "Truncate", field: "relations", offset: 1)
    }

    @Test(arguments: [Int32.min, -1])
    func negativeLengthsAreErrors(length: Int32) {
        let insert = MessageBuilder("I").integer(UInt32(1)).byte("N").integer(Int16(1)).byte("t").integer(length).bytes
        expect(insert, .negative(length), message: "Insert", field: "new tuple, column 0", offset: 9)
        let message = MessageBuilder("M").integer(UInt8(0)).integer(Int64(0)).string("").integer(length).bytes
        expect(message, .negative(length), message: "Message", field: "content", offset: 11)
        let truncate = MessageBuilder("T").integer(length).integer(UInt8(0)).bytes
        expect(truncate, .negative(length), message: "Truncate", field: "relations", offset: 1)
    }

    @Test func countsOfColumnsAreChecked() {
        for count in [Int16.max, 2] {
            let insert = MessageBuilder("I").integer(UInt32(1)).byte("N").integer(count).byte("n").bytes
            expect(insert, .tooLarge(Int32(count)), message: "Insert", field: "new tuple", offset: 6)
            let relation = MessageBuilder("R").integer(UInt32(1)).string("s").string("t").byte("d").integer(count)
                .integer(UInt8(0)).string("c").integer(UInt32(25)).integer(Int32(-1)).bytes
            expect(relation, .tooLarge(Int32(count)), message: "Relation", field: "columns", offset: 10)
        }
        for count in [Int16.min, -1] {
            let insert = MessageBuilder("I").integer(UInt32(1)).byte("N").integer(count).byte("n").bytes
            expect(insert, .negative(Int32(count)), message: "Insert", field: "new tuple", offset: 6)
        }
    }

    @Test func unknownBytesAreNamed() {
        let s = UInt8(ascii: "S")
        // Streams of unfinished transactions belong to version 2 of the protocol.
        expect(MessageBuilder("S").bytes, .unknownByte(s), message: "Message of pgoutput", field: "kind", offset: 0)
        expect(
            MessageBuilder("C").byte("S").bytes,
            .unknownByte(s),
            message: "Commit",
            field: "flags",
            offset: 1
        )
        expect(
            MessageBuilder("I").integer(UInt32(1)).byte("S").bytes,
            .unknownByte(s),
            message: "Insert",
            field: "new tuple",
            offset: 5
        )
        expect(
            MessageBuilder("D").integer(UInt32(1)).byte("S").bytes,
            .unknownByte(s),
            message: "Delete",
            field: "old tuple",
            offset: 5
        )
        // Binary values were not asked for.
        expect(
            MessageBuilder("I").integer(UInt32(1)).byte("N").integer(Int16(1)).byte("b").bytes,
            .unknownByte(UInt8(ascii: "b")),
            message: "Insert",
            field: "new tuple, column 0",
            offset: 8
        )
        expect(
            MessageBuilder("R").integer(UInt32(1)).string("").string("").byte("S").integer(Int16(0)).bytes,
            .unknownByte(s),
            message: "Relation",
            field: "replica identity",
            offset: 7
        )
    }

    @Test func textsWithoutAnEndAreErrors() {
        expect(
            MessageBuilder("O").integer(Int64(1)).raw("name").bytes,
            .truncated,
            message: "Origin",
            field: "name",
            offset: 9
        )
    }

    private func expect(
        _ bytes: ByteBuffer,
        _ reason: PgoutputError.Reason,
        message: String,
        field: String,
        offset: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: PgoutputError.self, sourceLocation: sourceLocation) {
            try PgoutputMessage(decoding: bytes)
        }
        #expect(error?.reason == reason, sourceLocation: sourceLocation)
        #expect(error?.message == message, sourceLocation: sourceLocation)
        #expect(error?.field == field, sourceLocation: sourceLocation)
        #expect(error?.offset == offset, sourceLocation: sourceLocation)
    }
}

extension PgoutputMessage {
    /// All rows of the message.
    fileprivate var tuples: [PgoutputTuple] {
        switch self {
        case .insert(_, let new): [new]
        case .update(_, let old, let new): (old.map { [$0.tuple] } ?? []) + [new]
        case .delete(_, let old): [old.tuple]
        default: []
        }
    }
}

extension PgoutputMessage.OldTuple {
    fileprivate var tuple: PgoutputTuple {
        switch self {
        case .key(let tuple), .full(let tuple): tuple
        }
    }
}
