import Foundation
import GRDB
import NIOCore
import NIOHTTP1
import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncUpload

/// The backend of the app: it owns the source, applies uploads, and signs tokens.
///
/// `@unchecked`: the simulation has one thread.
final class SimulatedBackend: @unchecked Sendable {
    /// How it answers uploads.
    enum Mood: Equatable {
        case works
        /// It answers with a status of a server that is busy.
        case isBusy
        /// It answers so many seconds after it has applied an upload.
        case isSlow(Int)
        /// It rejects so many of 100 writes.
        case rejects(Int)
    }

    /// The process that answers; it may have died, and another one comes.
    private(set) var process: SimulatedProcess
    let signer: SyncTokenSigner
    /// How long tokens are valid.
    var tokenLifetime = Duration.seconds(3600)
    var mood = Mood.works
    /// The tags of the writes that it has rejected, and the keys of rejected deletions.
    private(set) var rejected: Set<String> = []
    /// What names the writes that have come; one of a row that is not there any more changes nothing.
    private(set) var seen: Set<String> = []

    private let runtime: SimulatedRuntime
    private let database: DatabasePool
    private let applier: SQLiteUploadApplier
    private let observer: CommitObserver
    private let history: SourceHistory
    private let decisions: Decisions

    /// Decides about writes.
    private final class Decisions: @unchecked Sendable {
        var body: (UploadedWrite) -> WriteDecision = { _ in .apply }
    }

    /// Creates the source.
    init(
        _ runtime: SimulatedRuntime,
        path: String,
        process: SimulatedProcess,
        history: SourceHistory,
        secret: [UInt8]
    ) throws {
        (self.runtime, self.process, self.history) = (runtime, process, history)
        signer = SyncTokenSigner(key: try .hs256(secret: secret, id: "simulation"), audience: "simulation")
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        database = try DatabasePool(path: path, configuration: configuration)
        observer = CommitObserver(history, runtime)
        try database.write { db in
            for statement in WorldSchema.source + WorldSchema.audit { try db.execute(sql: statement) }
        }
        database.add(transactionObserver: observer, extent: .databaseLifetime)
        let decisions = Decisions()
        self.decisions = decisions
        applier = SQLiteUploadApplier(database) { write, _ in decisions.body(write) }
        decisions.body = { [unowned self] write in decide(write) }
        superviseProcess()
    }

    /// Ends the process when it has changed files a number of times: in the middle of an upload.
    func kill(afterFileChanges count: Int) { runtime.kill(process, afterFileChanges: count) }

    /// Lets another process answer, over the same database, some time after one has died.
    private func superviseProcess() {
        _ = runtime.whenDead(process) { [self] in
            runtime.after(.seconds(20)) { [self] in
                process = runtime.makeProcess("backend")
                superviseProcess()
            }
        }
    }

    /// A write is rejected by its tag, so that a repeated one is answered as the first one was.
    private func decide(_ write: UploadedWrite) -> WriteDecision {
        let name = DeviceWrite.name(of: write.entry)
        runtime.withoutOwner { _ = seen.insert(name) }
        if rejected.contains(name) { return .reject("not this one") }
        guard case .rejects(let percentage) = mood else { return .apply }
        let number = name.utf8.reduce(UInt64(7)) { ($0 &* 31) &+ UInt64($1) }
        guard number % 100 < UInt64(percentage) else { return .apply }
        runtime.withoutOwner { _ = rejected.insert(name) }
        return .reject("not this one")
    }

    /// Answers `POST /upload`.
    func answer(_ request: HTTPExchangeRequest) async throws -> (status: Int, body: ByteBuffer) {
        if mood == .isBusy { return (503, ByteBuffer(string: "busy")) }
        guard let user = try? await signer.verify(authorization: request.headers.first(name: "Authorization")),
            case .bytes(let body) = request.body
        else { return (401, ByteBuffer(string: "unauthorized")) }
        do {
            let response = try await applier.apply(UploadRequest(json: body.readableBytesView), for: user)
            if case .isSlow(let seconds) = mood { try await Task.sleep(for: .seconds(seconds)) }
            return (200, ByteBuffer(bytes: response.json))
        } catch let error as UploadFormatError {
            return (400, ByteBuffer(string: "\(error)"))
        }
    }

    /// Makes a token.
    func token(for user: String) throws -> String {
        try signer.token(userID: user, lifetime: tokenLifetime).text
    }

    /// Changes the source, as other users of the database do.
    func change(_ statements: [(sql: String, arguments: [String])]) async throws {
        try await database.write { db in
            let hasExtra = try Self.hasExtra(db)
            for (sql, arguments) in statements {
                let assignment = hasExtra ? ", \(WorldSchema.extra) = ?1" : ""
                try db.execute(
                    sql: sql.replacingOccurrences(of: WorldSchema.extraAssignment, with: assignment),
                    arguments: StatementArguments(arguments)
                )
            }
        }
    }

    private static func hasExtra(_ db: Database) throws -> Bool {
        try db.columns(in: "todos").contains { $0.name == WorldSchema.extra }
    }

    /// Adds ``WorldSchema/extra`` to the source, or drops it.
    ///
    /// - Returns: Whether it has it now.
    func alter() async throws -> Bool {
        try await database.write { db in
            if try Self.hasExtra(db) {
                try db.execute(sql: "ALTER TABLE todos DROP COLUMN \(WorldSchema.extra)")
                return false
            }
            try db.execute(sql: "ALTER TABLE todos ADD COLUMN \(WorldSchema.extra) TEXT DEFAULT 'plain'")
            return true
        }
    }

    // MARK: Backups

    /// The source as it was.
    struct Backup {
        fileprivate let database: DatabaseQueue
        fileprivate let history: SourceHistory.Backup
        fileprivate let observed: Int64
    }

    /// Makes a backup of the source, in memory.
    func backUp() async throws -> Backup {
        let copy = try DatabaseQueue()
        return try await database.writeWithoutTransaction { [self] db in
            try copy.inDatabase { try db.backup(to: $0) }
            return Backup(database: copy, history: history.backup, observed: observer.last)
        }
    }

    /// Puts the source back to a backup, in place, while others have it open.
    func restore(_ backup: Backup) async throws {
        try await database.writeWithoutTransaction { [self] db in
            try backup.database.inDatabase { try $0.backup(to: db) }
            observer.last = backup.observed
            history.restore(backup.history, at: runtime.now)
        }
    }

    /// The rows that a user may see of a table, each as text, in the order of their ids.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - user: The user.
    ///   - columns: The columns to have, in order; `NULL` for those that the source does not have.
    /// - Returns: The rows.
    /// - Throws: An error of the database.
    func rows(of table: String, for user: String, _ columns: [String]) async throws -> [String] {
        try await database.read { db in
            try Row.fetchAll(db, sql: WorldSchema.query(table) + " ORDER BY id", arguments: [user]).map { row in
                columns.map { column in
                    let value = row[column] as DatabaseValue?
                    return "\(column)=\(value.flatMap { String.fromDatabaseValue($0) } ?? "NULL")"
                }.joined(separator: " ")
            }
        }
    }
}

/// Tells the history of the source what each transaction has changed.
///
/// `@unchecked`: it is called on the queue of the writer.
private final class CommitObserver: TransactionObserver, @unchecked Sendable {
    private let history: SourceHistory
    private let runtime: SimulatedRuntime
    /// The last change that was told, by its `seq`.
    var last: Int64 = 0

    init(_ history: SourceHistory, _ runtime: SimulatedRuntime) { (self.history, self.runtime) = (history, runtime) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
        let sql = "SELECT seq, \"table\", id, tag, scope, user_id FROM audit WHERE seq > ? ORDER BY seq"
        guard let rows = try? Row.fetchAll(db, sql: sql, arguments: [last]), let end = rows.last else { return }
        last = end[0]
        runtime.withoutOwner {
            history.committed(
                rows.map { row in
                    SourceHistory.Change(table: row[1], id: row[2], tag: row[3], scope: row[4], user: row[5])
                },
                at: runtime.now
            )
        }
    }
}
