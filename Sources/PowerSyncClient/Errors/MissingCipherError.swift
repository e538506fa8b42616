public import Foundation

/// A key was given for a database, and the app's SQLite library cannot encrypt.
///
/// SQLite itself ignores `PRAGMA key`. The database is not opened, so that a readable file is not taken for an encrypted one.
public struct MissingCipherError: Error, LocalizedError, Sendable {
    init() {}

    /// What to do, in a sentence for developers.
    public var errorDescription: String? {
        """
        An encryption key was given, but the app's SQLite library has no cipher (PRAGMA cipher_version is \
        empty), so the file would not be encrypted. Build GRDB with SQLCipher, or leave out the key.
        """
    }
}

extension MissingCipherError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}
