import Foundation
package import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncUpload

/// A table of a database server, as its catalogue describes it.
///
/// A class, and so are its columns, because each write asks about them: nothing of them is copied then.
package final class ServerTable: Sendable {
    package let name: String
    /// The name in SQL, quoted.
    package let sqlName: String
    package let columns: [ServerColumn]
    /// The columns of the primary key.
    package let key: [String]
    /// Whether a write of a row may change other rows: there are triggers, rules, or references that cascade.
    package let hasSideEffects: Bool
    /// Whether a transaction that is rolled back leaves nothing of its writes in the table.
    package let isTransactional: Bool
    /// The columns of its rows, all of them.
    package let rowColumns: StoredRow.Columns
    private let indexes: [ExactText: Int]

    package init(
        name: String,
        sqlName: String,
        columns: [ServerColumn],
        key: [String],
        hasSideEffects: Bool,
        isTransactional: Bool = true
    ) {
        self.name = name
        self.sqlName = sqlName
        self.columns = columns
        self.key = key
        self.hasSideEffects = hasSideEffects
        self.isTransactional = isTransactional
        rowColumns = StoredRow.Columns(columns.map(\.name))
        indexes = Dictionary(
            columns.enumerated().map { (ExactText($1.name), $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The column with exactly this name.
    package func column(_ name: String) -> ServerColumn? { indexes[ExactText(name)].map { columns[$0] } }
}

/// A table of an engine that keeps writes of a transaction that is rolled back.
struct UntransactionalTable: Error, CustomStringConvertible {
    let table: String

    var description: String { "Table “\(table)” is not written: its engine has no transactions." }
}

/// A column of a table in a database server.
package final class ServerColumn: Sendable {
    /// What values the column has, as far as writing them goes.
    package enum Kind: Sendable, Equatable {
        /// Texts that are stored as they are.
        case text
        /// Texts whose blanks at the end are not stored.
        case fixedText
        case integer(bytes: Int, isUnsigned: Bool)
        /// Exact numbers with digits after the point.
        case decimal
        case real
        case boolean
        case uuid
        case json
        case bytes
        case array
        case time
        /// Enumerations, ranges, types of extensions: values have a text that the server reads.
        case other
    }

    package let name: String
    /// The type in SQL, to convert a text to; without a length.
    package let type: String
    package let kind: Kind
    /// The most characters of a text; `nil`: no limit, or no text.
    package let length: Int?
    /// Whether statements may set it: it is neither generated nor always an identity of the server's.
    package let isWritable: Bool
    /// Whether a text in it may have a NUL.
    package let storesNUL: Bool
    /// Whether it takes no two different texts for the same.
    package let isExact: Bool
    /// The character set of a column of texts that does not have all characters; `nil` for any other column.
    package let characterSet: String?

    package init(
        name: String,
        type: String,
        kind: Kind,
        length: Int?,
        isWritable: Bool,
        storesNUL: Bool,
        isExact: Bool,
        characterSet: String? = nil
    ) {
        self.name = name
        self.type = type
        self.kind = kind
        self.length = length
        self.isWritable = isWritable
        self.storesNUL = storesNUL
        self.isExact = isExact
        self.characterSet = characterSet
    }

    /// Whether rows can be identified by the texts of the column: those that the sync service sends are those that the server makes.
    package var identifiesRows: Bool {
        switch kind {
        case .text, .fixedText, .integer, .decimal, .uuid, .other: true
        case .real, .boolean, .json, .bytes, .array, .time: false
        }
    }

    /// Whether a text that is stored in the column is read as it was.
    ///
    /// - Returns: `nil` when only the server knows.
    package func stores(_ text: String) -> Bool? {
        guard storesNUL || !text.utf8.contains(0) else { return false }
        // A text has no more characters than bytes.
        if let length, text.utf8.count > length, text.unicodeScalars.count > length { return false }
        if kind == .fixedText, text.utf8.last == UInt8(ascii: " ") { return false }
        switch kind {
        case .text, .fixedText: return characterSet == nil || text.utf8.allSatisfy { $0 < 0x80 } ? true : nil
        case .integer(let bytes, let isUnsigned):
            return Self.isInteger(text, bits: bytes * 8, isUnsigned: isUnsigned)
        case .uuid: return Self.isUUID(text)
        case .decimal, .other: return nil
        case .real, .boolean, .json, .bytes, .array, .time: return false
        }
    }

    /// Whether a text is a UUID as servers write it: `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`.
    private static func isUUID(_ text: String) -> Bool {
        guard text.utf8.count == 36 else { return false }
        for (index, byte) in text.utf8.enumerated() {
            switch (index, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")), (23, UInt8(ascii: "-")):
                break
            case (8, _), (13, _), (18, _), (23, _): return false
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")): break
            default: return false
            }
        }
        return true
    }

    /// Whether a text is an integer as servers write it, within the range.
    private static func isInteger(_ text: String, bits: Int, isUnsigned: Bool) -> Bool {
        if isUnsigned {
            guard let number = UInt64(text) else { return false }
            return String(number).utf8.elementsEqual(text.utf8) && number <= UInt64.max >> (64 - bits)
        }
        guard let number = Int64(text) else { return false }
        return String(number).utf8.elementsEqual(text.utf8) && number == (number << (64 - bits)) >> (64 - bits)
    }

    /// The text of an uploaded value, for the server to read.
    ///
    /// Booleans become 1 and 0 but in columns of booleans and of JSON; arrays and objects become JSON text; bytes, uploaded in base64 or as
    /// `\x` with hexadecimal digits, become the digits.
    ///
    /// - Returns: `nil` for `NULL`.
    /// - Throws: ``WriteRefusal`` for a value that the column cannot have.
    package func text(of value: ExactJSON, in table: String) throws -> String? {
        let text: String
        switch (value, kind) {
        case (.null, _): return nil
        case (.bool(let value), .boolean), (.bool(let value), .json): text = value ? "true" : "false"
        case (.integer(let value), .boolean) where value == 0 || value == 1: text = value == 1 ? "true" : "false"
        case (.bool(let value), _): text = value ? "1" : "0"
        case (.double(let value), .integer):
            guard let integer = Int64(exactly: value) else { throw refusal(in: table) }
            text = String(integer)
        case (.string(let value), .integer):
            guard let first = value.utf8.first, first == UInt8(ascii: "-") || isDigit(first),
                value.utf8.dropFirst().allSatisfy(isDigit), value.utf8.contains(where: isDigit)
            else { throw refusal(in: table) }
            text = value
        case (.string(let value), .bytes):
            guard let digits = Self.digits(ofBytes: value) else { throw refusal(in: table) }
            text = digits
        case (_, .bytes), (.array, .integer), (.object, .integer): throw refusal(in: table)
        case (.integer(let value), _): text = String(value)
        case (.string(let value), _): text = value
        case (.double, _), (.array, _), (.object, _): text = value.text
        }
        guard storesNUL || !text.utf8.contains(0) else {
            throw WriteRefusal(
                code: .constraint,
                message: "Column “\(name)” of table “\(table)” cannot have a text with a NUL."
            )
        }
        return text
    }

    private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// The refusal of a value that is not one of the column's type.
    package func refusal(in table: String) -> WriteRefusal {
        WriteRefusal(
            code: .constraint,
            message: "Column “\(name)” of table “\(table)” has the type \(type), which the value is not of."
        )
    }

    /// The hexadecimal digits of bytes that were uploaded as text; `nil` when it is none of bytes.
    private static func digits(ofBytes text: String) -> String? {
        if text.hasPrefix("\\x") {
            let digits = text.dropFirst(2)
            return digits.utf8.count.isMultiple(of: 2) && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
                ? String(digits) : nil
        }
        return Data(base64Encoded: text).map { HexText.text(of: $0) }
    }
}

/// Bytes as two hexadecimal digits each.
package enum HexText {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The digits of bytes.
    package static func text(of bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of digits; `nil` when they are none.
    package static func bytes(of text: String) -> [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
