import Crypto
package import PowerSyncSyncConfig

/// The identity of a source row in 16 bytes (docs/service.md "Rows and operations").
///
/// It is the UUID of version 5 with the namespace `a396dd91-09fc-4017-a28d-3df722f651e9` over the BSON document of the
/// replica identity columns: SHA-1 of namespace and document, cut to 16 bytes, with version and variant set. The BSON
/// types are string, int64, double, binary and null.
package struct ReplicaID: Hashable, Sendable {
    /// The first eight bytes, most significant first.
    let high: UInt64
    /// The last eight bytes, most significant first.
    let low: UInt64

    /// The identity of a row.
    ///
    /// - Parameter columns: The replica identity columns in order.
    package init(_ columns: [SourceRow.Column]) {
        self.init(names: columns.map(\.name), values: columns.map(\.value))
    }

    /// The identity of a row, from the names and the values of its replica identity columns.
    package init(names: [String], values: [SQLValue]) {
        var sha1 = Insecure.SHA1()
        sha1.update(data: Self.namespace)
        sha1.update(data: Self.document(names: names, values: values))
        var bytes = Array(sha1.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x50
        bytes[8] = bytes[8] & 0x3f | 0x80
        self = unsafe bytes.withUnsafeBytes { unsafe ReplicaID(bytes: $0) }
    }

    /// An identity from its stored bytes; missing bytes count as zero.
    package init(bytes: UnsafeRawBufferPointer) {
        var words: (UInt64, UInt64) = (0, 0)
        unsafe withUnsafeMutableBytes(of: &words) {
            unsafe $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix($0.count)))
        }
        (high, low) = (UInt64(bigEndian: words.0), UInt64(bigEndian: words.1))
    }

    /// The UUID that a text is the usual form of: 36 characters, digits in lower case.
    ///
    /// `nil` for every other text, so that ``appendText(to:)`` gives the same one again.
    package init?(canonicalText text: [UInt8]) {
        guard text.count == 36 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        for (index, character) in text.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard character == UInt8(ascii: "-") else { return nil }
                continue
            }
            let digit: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
            default: return nil
            }
            if digits < 16 {
                words.0 = words.0 << 4 | UInt64(digit)
            } else {
                words.1 = words.1 << 4 | UInt64(digit)
            }
            digits += 1
        }
        (high, low) = words
    }

    /// The first eight bytes, which are a hash themselves.
    package var prefix: UInt64 { high }

    /// Calls a function with the bytes, as they are stored.
    package func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }

    private static let namespace: [UInt8] = [
        0xa3, 0x96, 0xdd, 0x91, 0x09, 0xfc, 0x40, 0x17, 0xa2, 0x8d, 0x3d, 0xf7, 0x22, 0xf6, 0x51, 0xe9,
    ]

    private static func document(names: [String], values: [SQLValue]) -> [UInt8] {
        var document: [UInt8] = [0, 0, 0, 0]
        for (name, value) in zip(names, values) {
            let kind: UInt8 =
                switch value {
                case .real: 0x01
                case .text: 0x02
                case .blob: 0x05
                case .null: 0x0a
                case .integer: 0x12
                }
            document.append(kind)
            document.append(contentsOf: name.utf8)
            document.append(0)
            switch value {
            case .null: break
            case .integer(let integer): document.append(littleEndian: integer)
            case .real(let number): document.append(littleEndian: number.bitPattern)
            case .text(let text):
                document.append(littleEndian: Int32(truncatingIfNeeded: text.utf8.count + 1))
                document.append(contentsOf: text.utf8)
                document.append(0)
            case .blob(let bytes):
                document.append(littleEndian: Int32(truncatingIfNeeded: bytes.count))
                document.append(0)
                document.append(contentsOf: bytes)
            }
        }
        document.append(0)
        unsafe Swift.withUnsafeBytes(of: Int32(truncatingIfNeeded: document.count).littleEndian) { length in
            unsafe document.replaceSubrange(0..<4, with: length)
        }
        return document
    }
}

extension ReplicaID: CustomStringConvertible {
    /// The usual form, for example `117ab485-4b42-58a2-ab32-0053a22c3423`.
    package var description: String {
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the 36 characters of the usual form.
    package func appendText(to text: inout [UInt8]) {
        let start = text.count
        text.append(contentsOf: repeatElement(0, count: Self.textBytes))
        unsafe text.withUnsafeMutableBytes {
            unsafe writeText(to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
    }

    /// The characters of the usual form.
    package static let textBytes = 36

    /// Writes the ``textBytes`` characters of the usual form.
    package func writeText(to text: UnsafeMutableRawBufferPointer) {
        precondition(text.count >= Self.textBytes, "no room for a UUID in \(text.count) bytes")
        var index = 0
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                unsafe text[index] = UInt8(ascii: "-")
                index += 1
            }
            let word = digit < 16 ? high : low
            unsafe text[index] = Self.hexadecimalDigit(
                UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15))) & 15
            )
            index += 1
        }
    }

    private static func hexadecimalDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.littleEndian) { unsafe append(contentsOf: $0) }
    }
}

extension ReplicaID: Comparable {
    /// Whether the bytes of one come before those of the other.
    package static func < (one: ReplicaID, other: ReplicaID) -> Bool {
        (one.high, one.low) < (other.high, other.low)
    }
}
