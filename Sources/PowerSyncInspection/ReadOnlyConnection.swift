import Foundation
import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// A connection that only reads, over SQLite's C API.
///
/// Not through GRDB: it opens paths, and the file of an app that is not running has to be opened by a URI that says so; and it
/// takes a value of another type than asked for as a mistake of the programmer, where it is what a damaged file has.
///
/// `@safe`: it alone closes the connection, at its end, after all statements that it made.
@safe final class ReadOnlyConnection {
    /// How a file is opened.
    enum Mode: String {
        /// Beside other connections: SQLite locks the file and, for a write-ahead log, may make the `-shm` file.
        case shared = "mode=ro"
        /// Without locks and without other files, for a file that nobody changes.
        case immutable = "immutable=1"
        /// A copy of ours, in which SQLite may roll back what a process has left behind.
        case copy = "mode=rw"
    }

    /// How long another connection's exclusive lock is waited for, in milliseconds.
    private static let patience: CInt = 5_000

    private let handle: OpaquePointer

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - mode: How.
    ///   - key: The key of an encrypted file.
    /// - Throws: `DatabaseError` of SQLite, which looks into the file with the first statement only; ``ClientFileError`` when the library
    ///   has no cipher.
    init(path: String, _ mode: Mode, key: CipherKey? = nil) throws {
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#%;"))
        let escaped = path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path
        var handle: OpaquePointer?
        let access = mode == .copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        let flags = access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        let code = unsafe sqlite3_open_v2("file:\(escaped)?\(mode.rawValue)", &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            let error = unsafe DatabaseError(code, reportedBy: handle, sql: nil)
            unsafe sqlite3_close_v2(handle)
            throw error
        }
        unsafe self.handle = handle
        unsafe sqlite3_extended_result_codes(handle, 1)
        unsafe sqlite3_busy_timeout(handle, Self.patience)
        try key.map(set)
    }

    private func set(_ key: CipherKey) throws {
        guard let library = try CipherLibrary(asking: { try text($0) }) else {
            throw ClientFileError(
                .noCipher,
                "A key was given, and the SQLite library of this command has no cipher; run it over SQLCipher"
            )
        }
        do {
            for statement in key.statements(for: library) { try forEachRow(statement) { _ in } }
        } catch let error as DatabaseError {
            // Without the statement, which has the key.
            throw DatabaseError(resultCode: error.extendedResultCode, message: error.message)
        }
    }

    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Runs a statement without rows.
    func run(_ sql: String) throws {
        try unsafe PreparedStatement(preparing: sql, on: handle)?.run()
    }

    /// Hands over each row of a query.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: Texts for its parameters.
    ///   - body: Reads the current row.
    /// - Throws: `DatabaseError`, and what `body` throws.
    func forEachRow(_ sql: String, _ arguments: String..., body: (PreparedStatement) throws -> Void) throws {
        try forEachRow(sql, arguments: arguments, body: body)
    }

    private func forEachRow(_ sql: String, arguments: [String], body: (PreparedStatement) throws -> Void) throws {
        guard let statement = try unsafe PreparedStatement(preparing: sql, on: handle) else { return }
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: CInt(index + 1)) }
        while try statement.step() { try body(statement) }
    }

    /// The number in the first column of the first row; `nil` when there is none, or something else.
    func integer(_ sql: String, _ arguments: String...) throws -> Int64? {
        var integer: Int64?
        try forEachRow(sql, arguments: arguments) { row in
            if integer == nil, row.storageClass(at: 0) == .integer { integer = row.integer(at: 0) }
        }
        return integer
    }

    /// The text in the first column of the first row; `nil` when there is none.
    func text(_ sql: String, _ arguments: String...) throws -> String? {
        var text: String?
        try forEachRow(sql, arguments: arguments) { row in text = text ?? row.string(at: 0) }
        return text
    }
}
