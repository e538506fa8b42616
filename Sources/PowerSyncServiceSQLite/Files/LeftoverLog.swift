import Foundation
import GRDB
import PowerSyncSQLite
import PowerSyncServiceCore

/// The write-ahead log that a killed process has left beside its database (its format: ``WriteAheadLogLength``).
///
/// SQLite reads the pages of the log in the place of those of the database, and nothing in either file says that they belong together: an
/// older copy that was put in the place of the database becomes a mixture of both. Such a copy was changed after the last write to
/// the log. So was a database into which SQLite has copied the log: then its pages are those of the log.
struct LeftoverLog {
    private let path: String

    /// Looks beside a database that is not open in this process.
    ///
    /// - Parameter path: The database.
    init(beside path: String) {
        self.path = path
    }

    /// Checks that SQLite would not delete the log, as it does beside an empty database.
    ///
    /// - Throws: `FileProblem` when the database is missing or empty and the log has something.
    func checkThatItIsRead() throws(FileProblem) {
        guard (FileStatus(path: path)?.length ?? 0) == 0, let log = FileStatus(path: path + "-wal"), log.length > 0
        else {
            return
        }
        throw FileProblem(path, "is missing or empty, and \(path)-wal has \(log.length) bytes of rows for it")
    }

    /// Checks that the log is one of the database.
    ///
    /// The log is read when the database was changed after it. If some of its pages are not in the database, the process may have
    /// been killed before it copied them, and the database may only have got another owner, name or date: then SQLite checks all of
    /// it as it reads it.
    ///
    /// - Throws: `FileProblem` when the database is another one.
    func checkThatItBelongsToTheDatabase() throws(FileProblem) {
        guard let database = FileStatus(path: path), let log = FileStatus(path: path + "-wal"),
            database.changed > log.modified
        else {
            return
        }
        if areAllPagesInDatabase || isConsistent { return }
        // Another program writes just now.
        guard FileStatus(path: path + "-wal")?.modified == log.modified else { return }
        throw FileProblem(
            path,
            "and \(path)-wal do not belong together: the database was replaced or damaged after its process had been killed"
        )
    }

    /// Whether the database has all pages of the log, as far as it is long enough; also when nothing is committed in the log, or a
    /// file cannot be read.
    private var areAllPagesInDatabase: Bool {
        let log = unsafe open(path + "-wal", O_RDONLY | O_CLOEXEC)
        guard log >= 0 else { return true }
        defer { close(log) }
        let database = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard database >= 0 else { return true }
        // This process has no locks on it that could be lost.
        defer { close(database) }
        guard let head = WriteAheadLogLength.read(WriteAheadLogLength.headBytes, at: 0, of: log),
            let pageSize = WriteAheadLogLength.pageSize(in: head)
        else {
            return true
        }
        return committedPages(of: log, head: head, pageSize: pageSize).allSatisfy { page, offset in
            // What is behind the end of a database that was cut is in the log.
            guard let stored = WriteAheadLogLength.read(Int(pageSize), at: (page - 1) * pageSize, of: database) else {
                return true
            }
            return stored == WriteAheadLogLength.read(Int(pageSize), at: offset, of: log)
        }
    }

    /// Where the log has the newest content of each page.
    private func committedPages(of log: CInt, head: [UInt8], pageSize: Int64) -> [Int64: Int64] {
        var committed: [Int64: Int64] = [:]
        var transaction: [Int64: Int64] = [:]
        var offset = Int64(WriteAheadLogLength.headBytes)
        while let frame = WriteAheadLogLength.read(WriteAheadLogLength.frameHeadBytes, at: offset, of: log),
            frame[8..<16] == head[16..<24]
        {
            offset += Int64(WriteAheadLogLength.frameHeadBytes)
            transaction[frame[0..<4].reduce(0) { $0 << 8 | Int64($1) }] = offset
            offset += pageSize
            // The last frame of a transaction has the number of pages of the database.
            guard frame[4..<8].contains(where: { $0 != 0 }) else { continue }
            committed.merge(transaction) { $1 }
            transaction = [:]
        }
        return committed
    }

    /// Whether the database is whole as SQLite reads it, with the log.
    ///
    /// Nothing is copied into it.
    private var isConsistent: Bool {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            let check = { (db: Database) in try String.fetchOne(db, sql: "PRAGMA integrity_check(1)") }
            return try queue.read(check) == "ok"  // blocks: while the file is opened
        } catch let error as DatabaseError {
            return ![.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
        } catch {
            return true
        }
    }
}
