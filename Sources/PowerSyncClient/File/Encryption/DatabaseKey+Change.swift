import Dispatch
import Foundation
import GRDB
import PowerSyncSQLite

// Encrypting a file, decrypting it, and giving it another key.
extension DatabaseKey {
    /// Changes the key of a database file that is not open.
    ///
    /// | `from` | `to` | |
    /// | --- | --- | --- |
    /// | `nil` | a key | encrypts the file |
    /// | a key | another key | gives it another key |
    /// | a key | `nil` | decrypts it |
    ///
    /// ```swift
    /// try await DatabaseKey.change(ofFile: "app.db", from: nil, to: .bytes(keychain.databaseKey()))
    /// ```
    ///
    /// Everything is kept: rows, the upload queue, what was synced. The file is copied to one beside it, which takes its place at the end.
    /// When it fails or the process dies, the file is as it was before, or as it is to be. The bytes of the old file are free on the disk
    /// and may be found there until they are written over.
    ///
    /// - Parameters:
    ///   - dbFilename: As for `PowerSyncDatabase(schema:dbFilename:)`.
    ///   - old: The key that the file has; `nil` for a file that is not encrypted.
    ///   - new: The key that it gets; `nil` for none.
    /// - Throws: ``PowerSyncError``: ``PowerSyncErrorCode/fileInUse`` while this process has the file open, SQLite's error while another one
    ///   has, ``DatabaseKeyError`` below it for a library or a key that does not do.
    public static func change(ofFile dbFilename: String, from old: DatabaseKey?, to new: DatabaseKey?) async throws {
        try await change(ofFile: dbFilename, from: old, to: new) { _ in }
    }

    /// Changes the key of a database file as ``change(ofFile:from:to:)`` does, and tells of its steps.
    ///
    /// - Parameters:
    ///   - dbFilename: The file.
    ///   - old: The key that it has.
    ///   - new: The key that it gets.
    ///   - reached: Called on the thread that does the work, after each step; a process that ends there leaves the files as they are.
    /// - Throws: What that throws.
    package static func change(
        ofFile dbFilename: String,
        from old: DatabaseKey?,
        to new: DatabaseKey?,
        reached: @escaping @Sendable (KeyChangeStep) -> Void
    ) async throws {
        let location = try DatabaseLocation.resolve(dbFilename)
        guard case .file(let path) = location, FileManager.default.fileExists(atPath: path) else {
            throw PowerSyncError.cannotChangeKey(ofMissing: dbFilename)
        }
        let change = KeyChange(path: path, old: old, new: new, reached: reached)
        let isDone = try await DatabaseFile.whileUnused(location) {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                DispatchQueue.global().async { continuation.resume(with: Result { try change.run() }) }
            }
        }
        guard isDone else { throw PowerSyncError.cannotChangeKey(openFile: path) }
    }

    /// Gives a file without a key one.
    ///
    /// - Parameters:
    ///   - path: A file that has no other user; a process that ends meanwhile leaves it, and `-rekey` beside it.
    ///   - key: The key.
    /// - Throws: As ``change(ofFile:from:to:)``.
    static func encrypt(unusedFile path: String, with key: DatabaseKey) throws {
        try KeyChange(path: path, old: nil, new: key) { _ in }.run()
    }

    /// Whether a file can be read without a key.
    static func isReadableWithout(_ path: String) -> Bool {
        var configuration = Configuration()
        configuration.readonly = true
        // Opening reads the beginning.
        return (try? DatabaseQueue(path: path, configuration: configuration)) != nil
    }
}

/// The steps of a change of the key of a file, in order.
///
/// A library without an export, which changes the pages in a transaction, has the first one only.
package enum KeyChangeStep: String, Codable, Sendable, CaseIterable {
    /// No other connection can use the file, and its log is written into it.
    case fileTaken
    /// There is an empty file beside it.
    case copyBegun
    /// The file beside it has everything, in a transaction that is committed.
    case copied
    /// The copy is closed, with the permissions of the file.
    case copyClosed
    /// The copy has the place of the file.
    case replaced
}

/// A change of the key of a file.
private struct KeyChange {
    let path: String
    let old: DatabaseKey?
    let new: DatabaseKey?
    let reached: @Sendable (KeyChangeStep) -> Void

    func run() throws {
        do {
            let queue = try open(path, old)
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { db in
                try takeAlone(db)
                reached(.fileTaken)
                let library = try CipherLibrary.of(db)
                guard let export = library.names.export else { return try changeInPlace(db) }
                try copy(db, with: export, library)
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw PowerSyncError.notOpened(
                DatabaseKeyError(
                    old != nil && DatabaseKey.isReadableWithout(path) ? .notEncrypted : .wrongKey,
                    path: path
                )
            )
        } catch let error as DatabaseError {
            throw PowerSyncError.cannotChangeKey(path, PowerSyncError(error))
        } catch let error as PowerSyncError {
            throw error
        } catch {
            throw PowerSyncError.cannotChangeKey(path, error)
        }
    }

    private func open(_ path: String, _ key: DatabaseKey?) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "PowerSync key"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in try key?.set(on: db) }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Takes the file for this connection alone, with its log written into it: a log that is left beside the new file would be another
    /// file's.
    private func takeAlone(_ db: Database) throws {
        // It cannot be left while another connection has the file open.
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
        guard mode == "delete" else {
            throw DatabaseError(resultCode: .SQLITE_BUSY, message: "the journal is \(mode ?? "unknown")")
        }
        try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
    }

    /// For a library that changes the pages of the file in a transaction.
    private func changeInPlace(_ db: Database) throws {
        try DatabaseKey.run(["PRAGMA rekey = \(SQLText.literal(new?.key.text ?? ""))"], db)
    }

    private func copy(_ db: Database, with export: String, _ library: CipherLibrary) throws {
        let copy = DatabaseLocation.unfinishedChange(of: path)
        try DatabaseLocation.file(path: copy).deleteFiles()
        // The mode of the file stays: SQLite would make one for everybody.
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        PrivateFiles.createFile(at: copy)
        reached(.copyBegun)
        do {
            // Without a key, the file would have that of the connection.
            let key = SQLText.literal(new?.key.text ?? "")
            let options = new?.key.options(for: library, schema: "changed") ?? []
            try DatabaseKey.run(["ATTACH DATABASE \(SQLText.literal(copy)) AS changed KEY \(key)"] + options, db)
            // Of a file without tables.
            try setNumbers(["auto_vacuum"], db)
            try db.execute(sql: "SELECT \(export)('changed')")
            try setNumbers(["user_version", "application_id"], db)
            let objects = "SELECT count(*) FROM %.sqlite_schema WHERE name NOT LIKE 'sqlite^_stat%' ESCAPE '^'"
            let counts = try ["main", "changed"].map { schema in
                try Int.fetchOne(db, sql: objects.replacingOccurrences(of: "%.", with: "\(schema)."))
            }
            guard counts[0] == counts[1] else {
                throw DatabaseError(
                    resultCode: .SQLITE_CORRUPT,
                    message: "the copy does not have all tables and indexes"
                )
            }
            reached(.copied)
            try db.execute(sql: "DETACH DATABASE changed")
            if let mode { try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: copy) }
            reached(.copyClosed)
            // SQLite has synchronised the copy. A loss of power leaves one file or the other.
            guard unsafe rename(copy, path) == 0 else { throw POSIXError.last }
            reached(.replaced)
        } catch {
            try? DatabaseLocation.file(path: copy).deleteFiles()
            throw error
        }
    }

    /// Gives the copy the numbers of the file that are not in tables.
    private func setNumbers(_ pragmas: [String], _ db: Database) throws {
        for pragma in pragmas {
            let value = try Int.fetchOne(db, sql: "PRAGMA main.\(pragma)") ?? 0
            try db.execute(sql: "PRAGMA changed.\(pragma) = \(value)")
        }
    }
}

extension DatabaseLocation {
    /// Where the copy of a file with another key is made.
    static func unfinishedChange(of path: String) -> String { "\(path)-rekey" }

    /// Removes what a process has left behind that died while it changed the key: it may be readable, and takes room.
    ///
    /// Another process that changes it just now fails, and the file is as it was.
    func removeUnfinishedChange() {
        guard case .file(let path) = self else { return }
        try? DatabaseLocation.file(path: DatabaseLocation.unfinishedChange(of: path)).deleteFiles()
    }
}
