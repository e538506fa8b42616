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
    /// The paths at which saves and transfers are writing files, so that no two of them write at one path: shared with the other tables of
    /// the database, whose queues may have the same directory.
    ///
    /// In lower case: on some volumes paths that differ by case only are one file.
    private let claimedPaths: NIOLockedValueBox<Set<String>>
    private let state = NIOLockedValueBox(State())

    /// The tables of this process that have queues, by database and by name in lower case: SQLite does not distinguish.
    private static let tables = NIOLockedValueBox<[ObjectIdentifier: [String: WeakReference<SharedAttachmentTable>]]>(
        [:]
    )

    /// Creates a table of one queue alone.
    convenience init() {
        self.init(owner: nil, paths: nil)
    }

    private init(owner: (any Sendable)?, paths: NIOLockedValueBox<Set<String>>?) {
        self.owner = owner
        claimedPaths = paths ?? NIOLockedValueBox([])
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

    /// Reserves paths until ``release(paths:)``.
    ///
    /// - Parameter paths: Some paths.
    /// - Returns: Those that no other owner has reserved, in the same order.
    func claim(paths: [String]) -> [String] {
        claimedPaths.withLockedValue { claimed in paths.filter { claimed.insert($0.lowercased()).inserted } }
    }

    /// Gives reservations of paths back.
    func release(paths: [String]) {
        claimedPaths.withLockedValue { claimed in
            for path in paths { claimed.remove(path.lowercased()) }
        }
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

// The attachments tables of this process that have queues.
extension SharedAttachmentTable {
    /// The names of the tables of a database that have queues, in lower case.
    static func names(of database: any PowerSyncDatabaseProtocol) -> [String] {
        let owner = database.fileOwner
        return tables.withLockedValue { tables in
            (tables[ObjectIdentifier(owner as AnyObject)] ?? [:]).filter { $0.value.object != nil }.map(\.key)
        }
    }

    /// What the queues of a table share.
    static func named(_ name: String, of database: any PowerSyncDatabaseProtocol) -> SharedAttachmentTable {
        // Databases of one file are one database.
        let owner = database.fileOwner
        let (id, name) = (ObjectIdentifier(owner as AnyObject), name.lowercased())
        return tables.withLockedValue { tables in
            if let table = tables[id]?[name]?.object { return table }
            tables = tables.compactMapValues { named in
                let alive = named.filter { $0.value.object != nil }
                return alive.isEmpty ? nil : alive
            }
            let neighbour = tables[id]?.values.lazy.compactMap(\.object).first
            let table = SharedAttachmentTable(owner: owner, paths: neighbour?.claimedPaths)
            tables[id, default: [:]][name] = WeakReference(table)
            return table
        }
    }
}
