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
        /// The ids in `claimed` that were asked for in vain.
        var wanted: Set<ExactText> = []
        var members: [Int: @Sendable () -> Void] = [:]
        var lastID = 0
    }

    /// Held while rows are read and written.
    let lock = AttachmentService.newLock()
    /// What identifies the database: kept, so that nothing else gets its identity.
    private let owner: (any Sendable)?
    /// Where files are being written: shared with the other tables of the database, whose queues may have the same directory.
    let paths: ClaimedPaths
    private let state = NIOLockedValueBox(State())

    /// Creates a table of one queue alone.
    ///
    /// - Parameters:
    ///   - owner: Lives as long as the table.
    ///   - paths: Where files are being written.
    init(owner: (any Sendable)? = nil, paths: ClaimedPaths = ClaimedPaths()) {
        self.owner = owner
        self.paths = paths
    }

    /// Reserves the file of an attachment.
    ///
    /// - Returns: `false` when it has another owner; all members are called when it is released.
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
    /// - Parameter onRelease: Called when a reservation that has a waiter was given back.
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

/// The attachments tables of this process that have queues.
final class SharedAttachmentTables: Sendable {
    /// The tables of this process.
    static let shared = SharedAttachmentTables()

    private struct Key: Hashable {
        let database: ObjectIdentifier
        /// In lower case: SQLite does not distinguish.
        let table: String
    }

    private let tables = NIOLockedValueBox<[Key: WeakReference<SharedAttachmentTable>]>([:])

    /// The names of the tables of a database that have queues, in lower case.
    func names(of database: any PowerSyncDatabaseProtocol) -> [String] {
        let owner = database.fileOwner
        let id = ObjectIdentifier(owner as AnyObject)
        return tables.withLockedValue { tables in
            tables.filter { $0.key.database == id && $0.value.object != nil }.map(\.key.table)
        }
    }

    /// What the queues of a table share.
    func table(named name: String, of database: any PowerSyncDatabaseProtocol) -> SharedAttachmentTable {
        // Databases of one file are one database.
        let owner = database.fileOwner
        let key = Key(database: ObjectIdentifier(owner as AnyObject), table: name.lowercased())
        return tables.withLockedValue { tables in
            if let table = tables[key]?.object { return table }
            tables = tables.filter { $0.value.object != nil }
            let paths = tables.first { $0.key.database == key.database }?.value.object?.paths
            let table = SharedAttachmentTable(owner: owner, paths: paths ?? ClaimedPaths())
            tables[key] = WeakReference(table)
            return table
        }
    }
}

/// The paths at which saves and transfers are writing files, so that no two of them write at one path.
///
/// Paths that differ by case only count as one: on some volumes they are one file.
final class ClaimedPaths: Sendable {
    /// In lower case.
    private let claimed = NIOLockedValueBox<Set<String>>([])

    /// Reserves paths until ``release(_:)``.
    ///
    /// - Parameter paths: Some paths.
    /// - Returns: Those that no other owner has reserved, in the same order.
    func claim(_ paths: [String]) -> [String] {
        claimed.withLockedValue { claimed in paths.filter { claimed.insert($0.lowercased()).inserted } }
    }

    /// Gives reservations back.
    func release(_ paths: [String]) {
        claimed.withLockedValue { claimed in
            for path in paths { claimed.remove(path.lowercased()) }
        }
    }
}
