import Foundation

/// The key of an encrypted file, in the forms that SQLite libraries with a cipher take.
///
/// | Key | Text for `PRAGMA key` and `ATTACH … KEY` |
/// | --- | --- |
/// | a passphrase | itself |
/// | 32 bytes | `x'…'`, 64 hexadecimal digits |
/// | 32 bytes and a salt of 16 | `x'…'`, 96 digits |
///
/// Source: the page *SQLCipher API* of Zetetic.
package struct CipherKey: Sendable, Hashable {
    /// Why a key cannot be used.
    package struct Unusable: Error, Sendable {
        /// What is wrong with it, to follow *The key*.
        ///
        /// The key is not in it.
        package let reason: String

        /// Creates an error.
        package init(reason: String) {
            self.reason = reason
        }
    }

    /// How many bytes of a file stay as they are, for systems that look at the beginning of a file.
    private static let plainHeaderSize = 32

    /// Keeps temporary tables and what SQLite sorts in memory: not every library encrypts temporary files.
    package static let noTemporaryFiles = "PRAGMA temp_store = MEMORY"

    /// What the library gets.
    package let text: String
    /// Whether the beginning of the file stays as it is without encryption.
    private var leavesHeaderPlain: Bool

    /// A key that the library derives from a passphrase.
    ///
    /// - Throws: ``Unusable`` for a passphrase that a library would take for none, cut off, or take for another key.
    package init(passphrase: String) throws(Unusable) {
        // An empty one means a file without encryption.
        guard !passphrase.isEmpty else { throw Unusable(reason: "is empty") }
        guard !passphrase.utf8.contains(0) else { throw Unusable(reason: "has a NUL character") }
        guard !Self.looksLikeBytes(passphrase) else {
            throw Unusable(reason: "is a passphrase that has the form of bytes, x'…': give the bytes themselves")
        }
        text = passphrase
        leavesHeaderPlain = false
    }

    /// A key that is used as it is.
    ///
    /// - Parameters:
    ///   - bytes: 32 bytes, or 48 with the salt.
    ///   - leavesHeaderPlain: Whether the beginning of the file stays as it is, where the salt would be.
    /// - Throws: ``Unusable`` for another number of bytes.
    package init(bytes: some Sequence<UInt8>, leavesHeaderPlain: Bool = false) throws(Unusable) {
        let bytes = Array(bytes)
        guard bytes.count == 48 || bytes.count == 32 && !leavesHeaderPlain else {
            let length = bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
            throw Unusable(
                reason: leavesHeaderPlain
                    ? "has \(length), and a file with a plain header needs 48: 32 and a salt of 16"
                    : "has \(length) instead of 32, or 48 with a salt of 16"
            )
        }
        text = "x'\(bytes.map { String(format: "%02x", $0) }.joined())'"
        self.leavesHeaderPlain = leavesHeaderPlain
    }

    /// The same key for a file whose beginning is as it is without encryption; `nil` for a key without a salt, which no such file has.
    package var withPlainHeader: CipherKey? {
        guard text.utf8.count == 99 else { return nil }
        var key = self
        key.leavesHeaderPlain = true
        return key
    }

    private static func looksLikeBytes(_ text: String) -> Bool {
        let text = text.utf8
        return [67, 99].contains(text.count) && text.starts(with: "x'".utf8) && text.last == UInt8(ascii: "'")
            && text.dropFirst(2).dropLast().allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    /// What a connection runs before anything else.
    ///
    /// - Parameters:
    ///   - library: The library of the connection.
    ///   - schema: The name of the file on the connection.
    /// - Returns: Statements, the first of which has the key.
    package func statements(for library: CipherLibrary, schema: String = "main") -> [String] {
        ["PRAGMA \(schema).key = \(SQLText.literal(text))"] + options(for: library, schema: schema)
            + [Self.noTemporaryFiles]
    }

    /// What a connection runs when the file has its key already.
    package func options(for library: CipherLibrary, schema: String) -> [String] {
        leavesHeaderPlain ? ["PRAGMA \(schema).\(library.names.plainHeaderSize) = \(Self.plainHeaderSize)"] : []
    }
}
