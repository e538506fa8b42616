public import Foundation
import GRDB
import PowerSyncSQLite

/// The key of an encrypted database file.
///
/// ```swift
/// let database = PowerSyncDatabase(schema: schema, dbFilename: "app.db", key: { try .bytes(keychain.databaseKey()) })
/// ```
///
/// The file, its log and its journal are encrypted by the SQLite library of the app, which has to have a cipher (*Encryption*). The key
/// is asked for when the file is opened, and kept in memory while it is open.
public struct DatabaseKey: Sendable {
    /// Gives the key of a file when it is opened.
    package typealias Source = @Sendable () throws -> DatabaseKey

    let key: CipherKey

    private init(_ key: () throws(CipherKey.Unusable) -> CipherKey) throws(DatabaseKeyError) {
        do {
            self.key = try key()
        } catch {
            throw DatabaseKeyError(.unusableKey, reason: error.reason)
        }
    }

    /// A key that is derived from a passphrase, which takes about a second for each time that a file is opened.
    ///
    /// - Parameter text: The passphrase, of any length.
    /// - Returns: The key.
    /// - Throws: ``DatabaseKeyError`` for a text that is empty, or has a NUL character.
    public static func passphrase(_ text: String) throws(DatabaseKeyError) -> DatabaseKey {
        try DatabaseKey { () throws(CipherKey.Unusable) in try CipherKey(passphrase: text) }
    }

    /// A key that is used as it is.
    ///
    /// - Parameters:
    ///   - bytes: 32 random bytes, for example from the keychain; or 48, the last 16 of which are the salt of the file.
    ///   - leavesHeaderPlain: Whether the first 32 bytes of the file stay readable, which iOS wants of a file in the folder of an app
    ///     group: otherwise it ends an app that is suspended while it has the file open. They have no rows. Needs 48 bytes, since the salt is
    ///     not in the file then, and the same value every time.
    /// - Returns: The key.
    /// - Throws: ``DatabaseKeyError`` for another number of bytes.
    public static func bytes(_ bytes: Data, leavesHeaderPlain: Bool = false) throws(DatabaseKeyError) -> DatabaseKey {
        try DatabaseKey { () throws(CipherKey.Unusable) in
            try CipherKey(bytes: bytes, leavesHeaderPlain: leavesHeaderPlain)
        }
    }

    /// Gives a connection the key: before anything else.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` with ``DatabaseKeyError/Code/noCipher`` for a library that ignores
    ///   keys, or a `DatabaseError` without the key.
    func set(on db: Database) throws {
        try DatabaseKey.run(key.statements(for: try CipherLibrary.of(db)), db)
    }

    /// Runs statements with keys in them, which no error shows.
    static func run(_ statements: [String], _ db: Database) throws {
        do {
            for statement in statements { try db.execute(sql: statement) }
        } catch let error as DatabaseError {
            throw DatabaseError(resultCode: error.extendedResultCode, message: error.message)
        }
    }
}

extension DatabaseKey: CustomStringConvertible, CustomDebugStringConvertible {
    /// Says that there is a key, and not which.
    public var description: String { "DatabaseKey" }
    /// Says that there is a key, and not which.
    public var debugDescription: String { description }
}

extension DatabaseKey: CustomReflectable {
    /// Nothing: the key is not shown.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension CipherLibrary {
    /// The library of a connection.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` with ``DatabaseKeyError/Code/noCipher`` when it has no cipher.
    static func of(_ db: Database) throws -> CipherLibrary {
        guard let library = try CipherLibrary(asking: { try String.fetchOne(db, sql: $0) }) else {
            throw PowerSyncError.cipherIsMissing
        }
        return library
    }
}
