import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// What the queues of one attachments table share, so that they do not get in each other's way.
///
/// An app should have one queue per table. Some make a second one without closing the first, at login for example: both then
/// archive what the other one's references do not name, but no row is transferred twice.
final class SharedAttachmentTable: Sendable {
    private struct State {
        /// The ids of attachments whose file is being written, sent or removed.
        var claimed: Set<ExactText> = []
        /// The ids in `claimed` that a caller asked for in vain.
        var wanted: Set<ExactText> = []
        var members: [Int: @Sendable () -> Void] = [:]
        var lastID = 0
    }

    /// Held while rows are read and written.
    private let lock = AsyncLock()
    /// Who holds the lock.
    private let turn = NIOLockedValueBox<AttachmentTurn?>(nil)
    /// What identifies the database: kept, so that nothing else gets its identity.
    private let owner: (any Sendable)?
    /// Where files are being written: shared with the other tables of the database, whose queues may have the same directory.
    let paths: ClaimedPaths
    private let state = NIOLockedValueBox(State())

    /// Creates a table that no other queue shares.
    ///
    /// - Parameters:
    ///   - owner: Lives as long as the table.
    ///   - paths: Where files are being written.
    init(owner: (any Sendable)? = nil, paths: ClaimedPaths = ClaimedPaths()) {
        self.owner = owner
        self.paths = paths
    }

    /// Runs a body that reads and writes rows, while no other one runs.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits, or what the body throws.
    func withTurn<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await lock.withLock {
            let turn = AttachmentTurn(table: self)
            self.turn.withLockedValue { $0 = turn }
            defer { self.turn.withLockedValue { $0 = nil } }
            return try await turn.run(body)
        }
    }

    /// Checks that this task does not run for a body that has its turn: waiting for the next one would never end.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)``
    func checkNotInTurn() throws {
        guard !AttachmentTurn.isInside(self) else {
            throw PowerSyncAttachmentError.generalError(
                "The attachment queue was called from inside withContext: use the context that the callback got."
            )
        }
    }

    /// Makes the body that has its turn go on without the app's code that it has called.
    ///
    /// - Parameters:
    ///   - scope: Turns in this scope go on waiting.
    ///   - error: What the calls throw.
    func leaveTurn(besidesThoseOf scope: AppCodeScope, _ error: PowerSyncAttachmentError) {
        guard let turn = turn.withLockedValue({ $0 }), !turn.scope.isInside(scope) else { return }
        turn.scope.leave(error)
    }

    /// Reserves the file of an attachment.
    ///
    /// - Returns: `false` when another caller has it; all members are called when it is released.
    func claim(_ id: String) -> Bool {
        state.withLockedValue { state in
            let id = ExactText(id)
            if state.claimed.insert(id).inserted { return true }
            state.wanted.insert(id)
            return false
        }
    }

    /// Gives a reservation back.
    func release(_ id: String) {
        let members = state.withLockedValue { state -> [@Sendable () -> Void] in
            let id = ExactText(id)
            state.claimed.remove(id)
            return state.wanted.remove(id) == nil ? [] : Array(state.members.values)
        }
        for member in members { member() }
    }

    /// Registers a started queue.
    ///
    /// - Parameter onRelease: Called when a reservation that a caller waits for was given back.
    /// - Returns: The registration, which ends with its last reference.
    func join(onRelease: @escaping @Sendable () -> Void) -> Member {
        state.withLockedValue { state in
            state.lastID += 1
            state.members[state.lastID] = onRelease
            return Member(table: self, id: state.lastID, isFirst: state.members.count == 1)
        }
    }

    fileprivate func leave(_ id: Int) {
        // The closure must not go away under the lock.
        _ = state.withLockedValue { $0.members.removeValue(forKey: id) }
    }

    /// A started queue's place.
    final class Member: Sendable {
        /// Whether no other queue had been started.
        let isFirst: Bool
        private let table: SharedAttachmentTable
        private let id: Int

        fileprivate init(table: SharedAttachmentTable, id: Int, isFirst: Bool) {
            self.table = table
            self.id = id
            self.isFirst = isFirst
        }

        deinit {
            table.leave(id)
        }
    }
}

/// A body that has its turn with a table, as the tasks that it waits for see it.
private final class AttachmentTurn: Sendable {
    @TaskLocal private static var current: AttachmentTurn?

    /// The calls into the app's code that the body makes.
    let scope = AppCodeScope.nested()
    private let table: SharedAttachmentTable
    private let outer: AttachmentTurn?
    /// Tasks that the body did not wait for keep the task-local value; they may ask for a turn of their own.
    private let isOver = NIOLockedValueBox(false)

    init(table: SharedAttachmentTable) {
        self.table = table
        outer = AttachmentTurn.current
    }

    /// Whether this task runs for a body that has its turn with a table.
    static func isInside(_ table: SharedAttachmentTable) -> Bool {
        var turn = current
        while let inner = turn {
            if inner.table === table, !inner.isOver.withLockedValue(\.self) { return true }
            turn = inner.outer
        }
        return false
    }

    func run<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        defer { isOver.withLockedValue { $0 = true } }
        return try await scope.run { try await Self.$current.withValue(self) { try await body() } }
    }
}

/// The attachments tables of this process that have queues.
final class SharedAttachmentTables: Sendable {
    /// The tables of this process.
    static let shared = SharedAttachmentTables()

    private struct Key: Hashable {
        let database: ObjectIdentifier
        /// In lower case: SQLite does not distinguish.
        let table: String
    }

    private struct Entry {
        weak var table: SharedAttachmentTable?
    }

    private let tables = NIOLockedValueBox<[Key: Entry]>([:])

    /// The names of the tables of a database that have queues, in lower case.
    func names(of database: any PowerSyncDatabaseProtocol) -> [String] {
        let owner = database.fileOwner
        let id = ObjectIdentifier(owner as AnyObject)
        return tables.withLockedValue { tables in
            tables.filter { $0.key.database == id && $0.value.table != nil }.map(\.key.table)
        }
    }

    /// What the queues of a table share.
    func table(named name: String, of database: any PowerSyncDatabaseProtocol) -> SharedAttachmentTable {
        // Databases of one file are one database.
        let owner = database.fileOwner
        let key = Key(database: ObjectIdentifier(owner as AnyObject), table: name.lowercased())
        return tables.withLockedValue { tables in
            if let table = tables[key]?.table { return table }
            tables = tables.filter { $0.value.table != nil }
            let paths = tables.first { $0.key.database == key.database }?.value.table?.paths
            let table = SharedAttachmentTable(owner: owner, paths: paths ?? ClaimedPaths())
            tables[key] = Entry(table: table)
            return table
        }
    }
}
