import Crypto
import Foundation
import GRDB
import PowerSyncCore
import PowerSyncSQLite

/// The steps by which a database gets the file of a seed, in order; a process may end after each.
package enum SeedingStep: String, Codable, Sendable, CaseIterable {
    /// No other process or thread seeds the file.
    case begun
    /// There is a copy beside the file, whose bytes may not be on the disk.
    case copied
    /// The copy is as the file is to be.
    case copyFinished
    /// The copy has the place of the file.
    case placed
    /// The names that were needed meanwhile are gone.
    case finished
}

/// A seed that a database begins with when it has no file yet (docs/database.md "Seeds").
///
/// ```
///  app-seed.db ──copy──▶ app.db-seeding ──(key)──▶ fsync ──link──▶ app.db ──▶ unlink app.db-seeding
///                └──────────── under the lock of app.db-seeding.lock ──────────────────┘
/// ```
///
/// A link does not replace what another process has made meanwhile, as renaming would. What a process leaves behind that dies in between is
/// removed by the next opening.
struct SeedFile: Sendable {
    /// Where the seed is.
    let path: String
    /// The `sub` of the token of the user who is signed in; `nil` when the app does not say it.
    let user: String?
    /// Called on the thread that does the work, after each step.
    var reached: @Sendable (SeedingStep) -> Void = { _ in }

    /// Makes the file of a database a copy of the seed, unless there is one.
    ///
    /// A seed of another user than ``user`` is left alone.
    ///
    /// - Parameters:
    ///   - path: Where the database is to be.
    ///   - key: The key that its file gets.
    /// - Throws: ``PowerSyncError`` for what is no seed, an error of the file system, and what `key` throws.
    func place(at path: String, key: DatabaseKey.Source?) throws {
        // An empty file is a database that nothing was written to.
        guard !SeedFile.exists(path), try isOfUser() else { return }
        do {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try PrivateFiles.createFolder(at: folder)
            let lock = try SeedLock(path: SeedFile.lock(of: path))
            defer { lock.release() }
            guard !SeedFile.exists(path) else { return SeedFile.removeUnfinished(of: path) }
            reached(.begun)
            try copy(to: path, key)
        } catch let error as PowerSyncError {
            throw error
        } catch {
            throw PowerSyncError.notSeeded(path, self.path, error)
        }
        reached(.finished)
    }

    private func copy(to path: String, _ key: DatabaseKey.Source?) throws {
        let copy = SeedFile.copy(of: path)
        SeedFile.removeUnfinished(of: path)
        do {
            // Of a link, what it leads to.
            let file = URL(fileURLWithPath: self.path).resolvingSymlinksInPath().path
            try FileManager.default.copyItem(atPath: file, toPath: copy)
            // That of an app's bundle cannot be written to, and others may read it.
            guard unsafe chmod(copy, PrivateFiles.fileMode) == 0 else { throw POSIXError.last }
            reached(.copied)
            if let key { try DatabaseKey.encrypt(unusedFile: copy, with: key()) }
            try SeedFile.synchronize(copy)
            reached(.copyFinished)
            // Another process may have made one without a seed: its log is in use.
            guard !SeedFile.exists(path) else { return SeedFile.removeUnfinished(of: path) }
            // A log that is left of a file that was deleted is no log of this one.
            for suffix in ["-wal", "-shm", "-journal"] { unsafe unlink(path + suffix) }
            try SeedFile.give(copy, thePlace: path)
            reached(.placed)
        } catch {
            SeedFile.removeUnfinished(of: path)
            throw error
        }
        SeedFile.removeUnfinished(of: path)
    }

    /// Gives a file another name, unless there is a file of that name.
    private static func give(_ file: String, thePlace path: String) throws {
        guard unsafe link(file, path) != 0 else { return }
        switch errno {
        case EEXIST: return
        // File systems without links.
        case EPERM, EACCES, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK:
            guard !exists(path), unsafe rename(file, path) != 0 else { return }
            throw POSIXError.last
        default: throw POSIXError.last
        }
    }

    /// Waits until the content of a file is on the disk.
    static func synchronize(_ path: String) throws {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError.last }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw POSIXError.last }
    }

    // MARK: - The seed

    /// Looks at the seed.
    ///
    /// - Returns: Whether it is one for ``user``.
    /// - Throws: ``PowerSyncError`` when it is no seed, or one that this version cannot read.
    private func isOfUser() throws -> Bool {
        guard SeedFile.exists(path) else { throw PowerSyncError.noSeed(path) }
        let (version, file, isComplete) = try read { db in
            let hasVersion =
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('ps_migration', 'ps_kv')"
            guard try Int.fetchOne(db, sql: hasVersion) == 2 else { return (0, Seed.FileState.ordinary, false) }
            let version = try Int.fetchOne(db, sql: "SELECT max(id) FROM ps_migration") ?? 0
            guard version <= SystemTables.currentVersion else { return (version, .ordinary, false) }
            return (version, try Seed.file(db), try Seed.isComplete(db))
        }
        guard version <= SystemTables.currentVersion else {
            throw PowerSyncError.newerSeed(path, "\(version)", newest: "\(SystemTables.currentVersion)")
        }
        guard case .unopened(let seed) = file, isComplete else { throw PowerSyncError.notASeed(path) }
        guard seed.version <= Seed.currentVersion else {
            throw PowerSyncError.newerSeed(
                path,
                "with the seed format \(seed.version == .max ? "of a later version" : "\(seed.version)")",
                newest: "\(Seed.currentVersion)"
            )
        }
        return user.map { seed.isOf(user: $0) } ?? true
    }

    /// Whether a seed may be made at a path: nothing is there, or a seed.
    static func isFree(_ path: String) -> Bool {
        guard exists(path) else { return true }
        return (try? SeedFile(path: path, user: nil).isOfUser()) == true
    }

    private func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        var configuration = Configuration()
        configuration.label = "PowerSync seed"
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            return try queue.read(body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw PowerSyncError.notASeed(path)
        } catch let error as DatabaseError {
            throw PowerSyncError.unreadableSeed(path, PowerSyncError(error))
        }
    }

    // MARK: - Names

    fileprivate static func copy(of path: String) -> String { "\(path)-seeding" }
    fileprivate static func lock(of path: String) -> String { "\(path)-seeding.lock" }

    fileprivate static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0
    }

    fileprivate static func removeUnfinished(of path: String) {
        let copy = copy(of: path)
        for name in [copy, "\(copy)-rekey"] {
            for suffix in ["", "-wal", "-shm", "-journal"] { unsafe unlink(name + suffix) }
        }
    }
}

extension DatabaseLocation {
    /// Removes what a process has left behind that died while it seeded the file, which there is now.
    ///
    /// A waiter for the lock finds the file.
    func removeUnfinishedSeeding() {
        guard case .file(let path) = self else { return }
        let lock = SeedFile.lock(of: path)
        if SeedFile.exists(SeedFile.copy(of: path)) { SeedFile.removeUnfinished(of: path) }
        if SeedFile.exists(lock) { unsafe unlink(lock) }
    }
}

extension Seed {
    /// Whether the rows are those of a user.
    ///
    /// - Parameter subject: The `sub` of the token.
    /// - Returns: Whether they are.
    func isOf(user subject: String) -> Bool { user == Seed.hash(ofUser: subject, salt: salt) }

    /// What a file keeps of a user: a hash that does not tell the user, and is another one in each file.
    ///
    /// - Parameters:
    ///   - subject: What tells the user from others.
    ///   - salt: A text of the file's own: its client id, or the salt of a seed.
    /// - Returns: 64 hexadecimal digits.
    static func hash(ofUser subject: String, salt: String) -> String {
        SHA256.hash(data: Data("\(salt)\n\(subject)".utf8)).map { String(format: "%02x", $0) }.joined()
    }
}
