public import Foundation

/// Why a database file cannot be opened with a key.
///
/// It is the underlying error of a ``PowerSyncError/operationFailed(message:underlyingError:)``.
public struct DatabaseKeyError: Error, Sendable, LocalizedError {
    /// The kinds of reasons.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: Sendable { case noCipher, unusableKey, wrongKey, notEncrypted }

        private let value: Value

        /// The app's SQLite library has no cipher, so that the file would not be encrypted.
        ///
        /// Build GRDB with SQLCipher, or leave out the key.
        public static let noCipher = Code(value: .noCipher)
        /// No cipher can use the key: it is empty, or has a wrong number of bytes.
        public static let unusableKey = Code(value: .unusableKey)
        /// The file was encrypted with another key, or is damaged at its beginning.
        public static let wrongKey = Code(value: .wrongKey)
        /// The file is not encrypted: ``DatabaseKey/change(ofFile:from:to:)`` does that.
        public static let notEncrypted = Code(value: .notEncrypted)

        /// The name of the code.
        public var description: String { "\(value)" }
    }

    /// What kind of reason it is.
    public let code: Code
    /// The text for people, without the key.
    public let errorDescription: String?

    /// The library has no cipher.
    static let noCipher = DatabaseKeyError(
        code: .noCipher,
        errorDescription: """
            An encryption key was given, but the app's SQLite library has no cipher (PRAGMA cipher_version is \
            empty), so the file would not be encrypted. Build GRDB with SQLCipher, or leave out the key.
            """
    )

    private init(code: Code, errorDescription: String) {
        self.code = code
        self.errorDescription = errorDescription
    }

    init(_ code: Code, path: String) {
        self.code = code
        errorDescription =
            code == .notEncrypted
            ? "The database file \(path) is not encrypted; open it without a key, or encrypt it with DatabaseKey.change(ofFile:from:to:)."
            : "The database file \(path) was encrypted with another key, or is damaged at its beginning."
    }

    init(_ code: Code, reason: String) {
        self.code = code
        errorDescription = "The key \(reason)."
    }
}

extension DatabaseKeyError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}
