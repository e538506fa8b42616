/// A SQLite library that encrypts files.
package enum CipherLibrary: CaseIterable, Sendable {
    /// SQLCipher.
    case sqlCipher
    /// SQLite3 Multiple Ciphers, which has not been tried.
    case multipleCiphers

    /// What a library calls what it adds to SQLite.
    package struct Names: Sendable {
        /// The pragma that says something if the library is this one.
        fileprivate let mark: String
        /// The pragma for the number of bytes that stay as they are.
        let plainHeaderSize: String
        /// The function that copies the file to another one with another key; `nil` when a file is changed in place.
        package let export: String?
    }

    /// The names of the library.
    package var names: Names {
        switch self {
        case .sqlCipher:
            Names(
                mark: "cipher_version",
                plainHeaderSize: "cipher_plaintext_header_size",
                export: "sqlcipher_export"
            )
        case .multipleCiphers: Names(mark: "cipher", plainHeaderSize: "plaintext_header_size", export: nil)
        }
    }

    /// Asks which library runs a connection; `nil` for SQLite itself, which ignores keys.
    ///
    /// - Parameter text: The text that a pragma gives; `nil` when there is no such pragma.
    /// - Throws: What `text` throws.
    package init?(asking text: (_ pragma: String) throws -> String?) rethrows {
        let found = try Self.allCases.first { try text("PRAGMA \($0.names.mark)")?.isEmpty == false }
        guard let found else { return nil }
        self = found
    }
}
