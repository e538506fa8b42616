import Foundation
import GRDB
import Logging
import PowerSyncServiceCore
import PowerSyncSQLite
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceSQLite

/// What happens to the three files of a database under a process that has it open.
@Suite(.timeLimit(.minutes(1))) struct DatabaseFilesTests {
    /// What happens to a file.
    ///
    /// It is read-only in tests with processes: to root, files are not.
    enum Fault: String, CaseIterable, Sendable {
        case deleted, moved, replaced, replacedByACopy, emptied, cut

        func happen(to path: String) throws {
            let files = FileManager.default
            switch self {
            case .deleted: try files.removeItem(atPath: path)
            case .moved: try files.moveItem(atPath: path, toPath: path + ".moved")
            case .replaced:
                try files.removeItem(atPath: path)
                try Data("another file".utf8).write(to: URL(filePath: path))
            case .replacedByACopy:
                try files.copyItem(atPath: path, toPath: path + ".copy")
                try files.removeItem(atPath: path)
                try files.moveItem(atPath: path + ".copy", toPath: path)
            case .emptied: truncate(path, 0)
            case .cut: truncate(path, off_t((FileStatus(path: path)?.length ?? 0) / 2))
            }
        }
    }

    /// A database with rows in the file and in the log.
    private func open(_ folder: TemporaryFolder) throws -> DatabasePool {
        let pool = try DatabasePool(path: folder.path("a.db"))
        try pool.write { db in try db.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, v)") }
        try insert(50, pool)
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try insert(50, pool)
        return pool
    }

    private func insert(_ count: Int, _ pool: DatabasePool) throws {
        for _ in 0..<count {
            try pool.write { db in try db.execute(sql: "INSERT INTO t (v) VALUES (randomblob(2000))") }
        }
    }

    private func problem(_ files: DatabaseFiles) -> FileProblem? {
        do {
            try files.check()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: DatabaseFiles.suffixes, Fault.allCases)
    func isNoticedAtTheNextLook(_ suffix: String, _ fault: Fault) throws {
        // SQLite has this one in its memory: the process would end with the next access.
        if suffix == "-shm", fault == .emptied || fault == .cut { return }
        let folder = try TemporaryFolder()
        let pool = try open(folder)
        let files = try DatabaseFiles(of: pool)
        #expect(problem(files) == nil)
        try fault.happen(to: folder.path("a.db") + suffix)
        #expect(problem(files)?.path == folder.path("a.db") + suffix)
        // And at each look after that, whatever is written meanwhile.
        _ = try? insert(5, pool)
        #expect(problem(files) != nil)
        if fault == .moved {
            try? FileManager.default.removeItem(atPath: folder.path("a.db") + suffix)
            try FileManager.default.moveItem(
                atPath: folder.path("a.db") + suffix + ".moved",
                toPath: folder.path("a.db") + suffix
            )
            #expect(problem(files) == nil)
        }
        try? pool.close()
    }

    @Test(
        arguments: [true, false],
        [0, 10, 15]
    )
    func logThatHasGrownAgain(_ isLookedAt: Bool, _ framesToCut: Int) throws {
        let folder = try TemporaryFolder()
        let pool = try open(folder)
        let files = try DatabaseFiles(of: pool)
        #expect(problem(files) == nil)
        try insert(20, pool)
        if isLookedAt { #expect(problem(files) == nil) }
        let path = folder.path("a.db-wal")
        let size = FileStatus(path: path)?.length ?? 0
        // Longer than at the first look, or empty.
        truncate(path, framesToCut == 0 ? 0 : off_t(size - Int64(framesToCut) * 4_120))
        try insert(1, pool)
        #expect(problem(files)?.path == path)
        try? pool.close()
    }

    @Test func whatSQLiteDoes() throws {
        let folder = try TemporaryFolder()
        let pool = try open(folder)
        let files = try DatabaseFiles(of: pool)
        let other = try DatabaseQueue(path: folder.path("a.db"))
        let steps: [(String, () throws -> Void)] = [
            ("a passive checkpoint", { try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) } }),
            ("writing", { try insert(20, pool) }),
            ("a log that begins anew", { try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.restart) } }),
            ("writing over the old log", { try insert(3, pool) }),
            ("emptying the log", { try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) } }),
            ("writing", { try insert(1, pool) }),
            ("another program", { try other.write { db in try db.execute(sql: "UPDATE t SET v = randomblob(3000)") } }),
            ("its checkpoint", { try other.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) } }),
            ("deleting", { try pool.write { db in try db.execute(sql: "DELETE FROM t WHERE id % 3 > 0") } }),
            ("shortening the file", { try pool.vacuum() }),
            ("copying that", { try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) } }),
            (
                "a large transaction that is given up",
                {
                    try pool.writeInTransaction { db in
                        try db.execute(sql: "PRAGMA cache_size = 10")
                        try db.execute(sql: "INSERT INTO t (v) SELECT randomblob(2000) FROM t a, t b LIMIT 5000")
                        return .rollback
                    }
                }
            ),
            ("writing", { try insert(20, pool) }),
            (
                "a limit for the log",
                {
                    try pool.writeWithoutTransaction { db in
                        try db.execute(sql: "PRAGMA journal_size_limit = 20000")
                        _ = try db.checkpoint(.restart)
                    }
                }
            ),
            ("cutting it to that", { try insert(1, pool) }),
        ]
        for (name, step) in steps {
            try step()
            #expect(problem(files) == nil, "\(name)")
        }
        try other.close()
        try pool.close()
    }

    @Test(arguments: [true, false])
    func logWithoutItsDatabase(_ isMissing: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("source.db")
        let pool = try open(folder)
        for suffix in DatabaseFiles.suffixes {
            try FileManager.default.copyItem(atPath: folder.path("a.db") + suffix, toPath: path + suffix)
        }
        try pool.close()
        if isMissing { try FileManager.default.removeItem(atPath: path) } else { truncate(path, 0) }
        let logSize = FileStatus(path: path + "-wal")?.length
        let error = #expect(throws: ReplicationSourceError.self) {
            try EmbeddedSource(path: path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        #expect(error?.message.contains("\(path)-wal has \(logSize ?? 0) bytes") == true)
        #expect(FileStatus(path: path + "-wal")?.length == logSize)
    }

    /// What somebody puts in the place of a database whose process was killed.
    enum Replacement: String, CaseIterable, Sendable {
        case nothing, itself, itselfWithItsDate, copyWithItsLog, otherMode, copiedLog, halfCopiedLog, olderCopy,
            olderCopyWithItsDate,
            another

        /// Whether it is another database than the one that the log belongs to.
        var isOther: Bool { [.olderCopy, .olderCopyWithItsDate, .another].contains(self) }
    }

    @Test(arguments: Replacement.allCases)
    func logOfAnotherDatabase(_ replacement: Replacement) throws {
        let files = FileManager.default
        let folder = try TemporaryFolder()
        let path = folder.path("source.db")
        let pool = try open(folder)
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try files.copyItem(atPath: folder.path("a.db"), toPath: folder.path("older.db"))
        try insert(50, pool)
        try pool.write { db in try db.execute(sql: "UPDATE t SET v = randomblob(3000)") }
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try insert(50, pool)
        let before = try Data(contentsOf: URL(filePath: folder.path("a.db")))
        for suffix in DatabaseFiles.suffixes {
            try files.copyItem(atPath: folder.path("a.db") + suffix, toPath: path + suffix)
        }
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) }
        let after = try Data(contentsOf: URL(filePath: folder.path("a.db")))
        try pool.close()

        // A later time than that of the log, whatever the clock of the file system.
        let written = try #require(FileStatus(path: path + "-wal"))
        func put(_ content: Data, hasItsDate: Bool = false) throws {
            repeat {
                try content.write(to: URL(filePath: path))
            } while FileStatus(path: path)!.changed <= written.changed
            if hasItsDate {
                try files.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
            }
        }
        switch replacement {
        case .nothing: break
        case .itself: try put(before)
        case .itselfWithItsDate: try put(before, hasItsDate: true)
        case .copyWithItsLog:
            try put(before)
            try Data(contentsOf: URL(filePath: path + "-wal")).write(to: URL(filePath: path + "-wal"))
        case .otherMode: try files.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        case .copiedLog: try put(after)
        case .halfCopiedLog: try put(after.prefix(40_960) + before.dropFirst(40_960))
        case .olderCopy: try put(Data(contentsOf: URL(filePath: folder.path("older.db"))))
        case .olderCopyWithItsDate:
            try put(Data(contentsOf: URL(filePath: folder.path("older.db"))), hasItsDate: true)
        case .another:
            let other = try DatabaseQueue(path: folder.path("other.db"))
            try other.write { db in
                try db.execute(sql: "CREATE TABLE other (v); INSERT INTO other VALUES (1)")
            }
            try other.close()
            try put(Data(contentsOf: URL(filePath: folder.path("other.db"))))
        }
        let log = try Data(contentsOf: URL(filePath: path + "-wal"))
        let database = try Data(contentsOf: URL(filePath: path))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        if replacement.isOther {
            let error = #expect(throws: ReplicationSourceError.self) { try EmbeddedSource(path: path, logger: logger) }
            #expect(error?.message.contains("\(path) and \(path)-wal do not belong together") == true)
            let storage = #expect(throws: BucketStorageError.self) { try SQLiteBucketStorage(path: path) }
            #expect(storage?.message.contains("\(path) and \(path)-wal do not belong together") == true)
            #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == log)
            #expect(try Data(contentsOf: URL(filePath: path)) == database)
        } else {
            let source = try EmbeddedSource(path: path, logger: logger)
            #expect(try source.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 200)
            try source.close()
        }
    }
}
