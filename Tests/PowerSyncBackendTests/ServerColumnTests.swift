import PowerSyncProtocol
import PowerSyncSQLite
import Testing

@testable import PowerSyncBackend

/// What is known of ids and columns of database servers without asking one.
@Suite struct ServerColumnTests {
    private static func column(
        _ kind: ServerColumn.Kind,
        length: Int? = nil,
        storesNUL: Bool = false,
        characterSet: String? = nil
    ) -> ServerColumn {
        ServerColumn(
            name: "id",
            type: "type",
            kind: kind,
            length: length,
            isWritable: true,
            storesNUL: storesNUL,
            isExact: true,
            characterSet: characterSet
        )
    }

    @Test func textsComeBackAsTheyWere() {
        let text = Self.column(.text, length: 3)
        #expect(text.stores("abc") == true && text.stores("a ") == true && text.stores("éé😀") == true)
        #expect(text.stores("abcd") == false && text.stores("a\u{0}") == false)
        #expect(Self.column(.text, storesNUL: true).stores("a\u{0}") == true)
        #expect(Self.column(.fixedText).stores("a ") == false && Self.column(.fixedText).stores(" a") == true)
        let latin = Self.column(.text, characterSet: "latin1")
        #expect(latin.stores("abc") == true && latin.stores("é") == nil)
    }

    @Test func integersHaveOneText() {
        let byte = Self.column(.integer(bytes: 1, isUnsigned: false))
        for text in ["0", "7", "-7", "127", "-128"] { #expect(byte.stores(text) == true, "\(text)") }
        for text in ["", "007", "+7", "7.0", " 7", "-0", "128", "-129", "1e1", "７"] {
            #expect(byte.stores(text) == false, "\(text)")
        }
        let wide = Self.column(.integer(bytes: 8, isUnsigned: false))
        #expect(wide.stores("9223372036854775807") == true && wide.stores("-9223372036854775808") == true)
        #expect(wide.stores("9223372036854775808") == false)
        let unsigned = Self.column(.integer(bytes: 8, isUnsigned: true))
        #expect(unsigned.stores("18446744073709551615") == true && unsigned.stores("-1") == false)
        let short = Self.column(.integer(bytes: 3, isUnsigned: true))
        #expect(short.stores("16777215") == true && short.stores("16777216") == false)
    }

    @Test func aUUIDHasOneText() {
        let uuid = Self.column(.uuid)
        #expect(uuid.stores("f81d4fae-7dec-11d0-a765-00a0c91e6bf6") == true)
        for text in ["F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae7dec11d0a76500a0c91e6bf6", "{f81d}", ""] {
            #expect(uuid.stores(text) == false)
        }
    }

    @Test func onlyTheServerKnowsTheRest() {
        #expect(Self.column(.decimal).stores("1.50") == nil && Self.column(.other).stores("happy") == nil)
        #expect(!Self.column(.real).identifiesRows && Self.column(.decimal).identifiesRows)
    }

    @Test func bytesAreReadFromBase64AndFromDigits() throws {
        let bytes = Self.column(.bytes)
        #expect(try bytes.text(of: .string("AAH/"), in: "t") == "0001ff")
        #expect(try bytes.text(of: .string("\\x0001FF"), in: "t") == "0001FF")
        #expect(try bytes.text(of: .string(""), in: "t")?.isEmpty == true)
        for wrong in ["\\x0", "\\xzz", "%", "\\x０１"] {
            #expect(throws: WriteRefusal.self) { try bytes.text(of: .string(wrong), in: "t") }
        }
        #expect(
            HexText.bytes(of: "00ff") == [0, 255] && HexText.bytes(of: "0") == nil && HexText.bytes(of: "é0") == nil
        )
    }

    @Test func idsThatNoCollationTakesForTheSameAreApart() {
        func areApart(_ ids: String...) -> Bool { IDSkeleton.areApart(ids.map { ExactText($0) }) }
        #expect(areApart("a", "b", "10", "1"))
        #expect(areApart("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf7"))
        for other in ["A", "a-", "_a", "0a"] { #expect(!areApart("a", other), "\(other)") }
        for id in ["é", "a ", "", "a\u{0}", "😀"] where !id.isEmpty { #expect(!areApart(id), "\(id)") }
        #expect(!areApart("i1", "J1") && !areApart("y", "j") && !areApart("u", "v", "x") && !areApart("w", "V"))
        #expect(!areApart("7", "007") && !areApart("", "-"))
    }
}
