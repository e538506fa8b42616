import NIOCore
import PowerSyncProtocol
import PowerSyncServicePostgres
import Testing

/// Writes messages as a server does.
struct MessageBuilder {
    /// A column of a tuple.
    enum Column: ExpressibleByStringLiteral, ExpressibleByNilLiteral {
        case null, unchanged
        case text(String)

        init(stringLiteral value: String) { self = .text(value) }
        init(nilLiteral: ()) { self = .null }
    }

    private(set) var bytes = ByteBuffer()

    /// Begins a message.
    init(_ kind: Unicode.Scalar) {
        bytes.writeInteger(UInt8(ascii: kind))
    }

    func byte(_ byte: Unicode.Scalar) -> MessageBuilder { integer(UInt8(ascii: byte)) }

    func integer(_ value: some FixedWidthInteger) -> MessageBuilder {
        var copy = self
        copy.bytes.writeInteger(value)
        return copy
    }

    func string(_ text: String) -> MessageBuilder {
        var copy = self
        copy.bytes.writeNullTerminatedString(text)
        return copy
    }

    func raw(_ text: String) -> MessageBuilder {
        var copy = self
        copy.bytes.writeString(text)
        return copy
    }

    func tuple(_ columns: [Column]) -> MessageBuilder {
        var copy = integer(Int16(columns.count))
        for column in columns {
            switch column {
            case .null: copy = copy.byte("n")
            case .unchanged: copy = copy.byte("u")
            case .text(let text): copy = copy.byte("t").integer(Int32(text.utf8.count)).raw(text)
            }
        }
        return copy
    }

    /// One message of each kind, and some of the larger kinds.
    static let examples: [(name: String, bytes: ByteBuffer)] = [
        ("begin", MessageBuilder("B").integer(Int64(0x16_B374_D848)).integer(Int64(1)).integer(UInt32(700)).bytes),
        (
            "commit",
            MessageBuilder("C").integer(UInt8(0)).integer(Int64(1)).integer(Int64(2)).integer(Int64(-3)).bytes
        ),
        ("origin", MessageBuilder("O").integer(Int64(7)).string("other").bytes),
        (
            "relation",
            MessageBuilder("R").integer(UInt32(16400)).string("public").string("lists").byte("d").integer(Int16(2))
                .integer(UInt8(1)).string("id").integer(UInt32(2950)).integer(Int32(-1))
                .integer(UInt8(0)).string("näme").integer(UInt32(1043)).integer(Int32(24)).bytes
        ),
        ("type", MessageBuilder("Y").integer(UInt32(16410)).string("public").string("mood").bytes),
        ("insert", MessageBuilder("I").integer(UInt32(16400)).byte("N").tuple(["1", nil, "ü", ""]).bytes),
        ("update", MessageBuilder("U").integer(UInt32(16400)).byte("N").tuple(["1", .unchanged]).bytes),
        (
            "update of a key",
            MessageBuilder("U").integer(UInt32(16400)).byte("K").tuple(["1", nil]).byte("N").tuple(["2", "b"]).bytes
        ),
        (
            "update of a full row",
            MessageBuilder("U").integer(UInt32(16400)).byte("O").tuple(["1", "a"]).byte("N").tuple(["1", "b"]).bytes
        ),
        ("delete by key", MessageBuilder("D").integer(UInt32(16400)).byte("K").tuple(["1", nil]).bytes),
        ("delete of a full row", MessageBuilder("D").integer(UInt32(16400)).byte("O").tuple(["1", "a"]).bytes),
        (
            "truncate",
            MessageBuilder("T").integer(Int32(2)).integer(UInt8(3)).integer(UInt32(16400)).integer(UInt32(16405)).bytes
        ),
        (
            "message",
            MessageBuilder("M").integer(UInt8(1)).integer(Int64(9)).string("powersync").integer(Int32(4)).raw("ping")
                .bytes
        ),
    ]
}

extension PgoutputTuple {
    /// The columns as texts; `u` stands for what is not sent.
    var texts: [String?] {
        var texts: [String?] = []
        forEachColumn { position, column in
            #expect(position == texts.count)
            switch column {
            case .null: texts.append(nil)
            case .unchanged: texts.append("(unchanged)")
            case .text(let text): texts.append(text.string)
            }
        }
        return texts
    }
}
