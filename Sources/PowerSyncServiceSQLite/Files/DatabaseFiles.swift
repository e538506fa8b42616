import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite
import PowerSyncServiceCore

/// The three files of a database in WAL mode that is open in this process: the database, `-wal` and `-shm`.
///
/// | What happens to a file | What SQLite does by itself |
/// | --- | --- |
/// | it is deleted or replaced | goes on with the one that it has opened, which vanishes with the process |
/// | `-shm` is deleted | as above; other programs make another one, and the two overwrite each other's commits |
/// | it is cut short | writes behind the gap; the next process takes what follows the gap for nothing |
/// | it becomes read-only | goes on; the next process cannot write |
///
/// None of these files becomes another one while a process has the database open, and SQLite makes only the database and `-wal` shorter:
/// the database after `VACUUM`, `-wal` as ``WriteAheadLogLength`` says. What a killed process has left is looked at by ``LeftoverLog``.
final class DatabaseFiles: Sendable {
    /// The files beside the name of a database.
    static let suffixes = ["", "-wal", "-shm"]

    private struct State {
        /// Which files were opened, by suffix; those that are not there yet are missing.
        var identities: [String: FileIdentity] = [:]
        /// Their lengths at the last look.
        var lengths: [String: Int64] = [:]
        var log = WriteAheadLogLength()
        /// What cannot be made good.
        var damage: FileProblem?
    }

    private let path: String
    /// In bytes.
    private let pageSize: Int64
    private let pool: DatabasePool
    private let state: NIOLockedValueBox<State>

    /// Remembers the files of a database that has just been opened.
    ///
    /// - Throws: An error of the database.
    init(of pool: DatabasePool) throws {
        self.pool = pool
        path = pool.path
        pageSize = try pool.read { db in try Int64.fetchOne(db, sql: "PRAGMA page_size") } ?? 512
        var state = State()
        for suffix in Self.suffixes {
            guard let status = FileStatus(path: path + suffix) else { continue }
            state.identities[suffix] = status.identity
            state.lengths[suffix] = status.length
            if suffix == "-wal" { state.log.begin(at: path + suffix, length: status.length) }
        }
        self.state = NIOLockedValueBox(state)
    }

    /// Looks at the files.
    ///
    /// Reads the heads of the frames that are new in `-wal`, and nothing of the other two: to close one of them would give up the
    /// locks that SQLite has on it. It waits for the disk: a running service calls it through `BlockingWork`.
    ///
    /// - Throws: `FileProblem`.
    func check() throws(FileProblem) {
        let (problem, doubt) = state.withLockedValue { state in look(&state) }
        if let problem { throw problem }
        guard let doubt, !isWhole(doubt) else { return }
        let damage = FileProblem(path + doubt.suffix, "was cut short")
        state.withLockedValue { $0.damage = damage }
        throw damage
    }

    /// A file that is shorter than it was, as SQLite may have made it.
    private enum Doubt {
        case database, log

        var suffix: String { self == .log ? "-wal" : "" }
    }

    private func look(_ state: inout State) -> (FileProblem?, Doubt?) {
        if let damage = state.damage { return (damage, nil) }
        var doubt: Doubt?
        for suffix in Self.suffixes {
            let file = path + suffix
            guard let status = FileStatus(path: file) else {
                guard state.identities[suffix] != nil else { continue }
                return (FileProblem(file, "is gone"), nil)
            }
            guard state.identities[suffix, default: status.identity] == status.identity else {
                return (FileProblem(file, "was replaced by another one"), nil)
            }
            guard unsafe access(file, W_OK) == 0 else { return (FileProblem(file, "cannot be written any more"), nil) }
            let isShorter = status.length < state.lengths[suffix] ?? 0
            state.identities[suffix] = status.identity
            state.lengths[suffix] = status.length
            var isCut = false
            switch suffix {
            case "-shm": isCut = isShorter
            case "-wal":
                isCut = !state.log.look(at: file)
                if isShorter, status.length == 0 { doubt = .log }
            default:
                // SQLite makes it shorter by whole pages.
                isCut = isShorter && (status.length == 0 || status.length % pageSize != 0)
                if isShorter { doubt = .database }
            }
            if isCut {
                state.damage = FileProblem(file, "was cut short")
                return (state.damage, nil)
            }
        }
        return (nil, doubt)
    }

    /// Whether a shorter file has everything that it should have, as far as SQLite knows.
    private func isWhole(_ doubt: Doubt) -> Bool {
        do {
            switch doubt {
            case .log:
                // SQLite empties the log when all of it is in the database. It copies what is not there yet, or cannot.
                let copy = { (db: Database) in try db.checkpoint(.passive).walFrameCount }
                let frames = try pool.writeWithoutTransaction(copy)  // blocks: see check()
                return frames == 0 || FileStatus(path: path + "-wal").map { $0.length > 0 } == true
            case .database:
                // Pages that are missing are empty; connections that are open may have them in memory.
                var configuration = Configuration()
                configuration.readonly = true
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                defer { try? queue.close() }
                let check = { (db: Database) in try String.fetchOne(db, sql: "PRAGMA quick_check(1)") }
                return try queue.read(check) == "ok"  // blocks: see check()
            }
        } catch let error as DatabaseError {
            // Another connection has locked the file for a moment.
            return error.resultCode == .SQLITE_BUSY
        } catch {
            return true
        }
    }
}
