import NIOConcurrencyHelpers

/// The open databases of one file in this process.
final class DatabaseGroup: Sendable {
    /// At most one of the members syncs.
    let sync = SyncGroup()

    private let members = NIOLockedValueBox<[ObjectIdentifier: LocalDatabase]>([:])

    fileprivate func add(_ database: LocalDatabase) {
        members.withLockedValue { $0[ObjectIdentifier(database)] = database }
        database.changes.onCommit { [weak self, weak database] in
            guard let self, let database else { return }
            announceCommit(of: database)
        }
    }

    /// - Returns: Whether the group is empty now.
    fileprivate func remove(_ database: LocalDatabase) -> Bool {
        members.withLockedValue { members in
            members[ObjectIdentifier(database)] = nil
            return members.isEmpty
        }
    }

    fileprivate func hasMembers(besides database: LocalDatabase) -> Bool {
        members.withLockedValue { members in members.keys.contains { $0 != ObjectIdentifier(database) } }
    }

    /// Every member has connections of its own, so the others do not see the commit by themselves.
    private func announceCommit(of database: LocalDatabase) {
        let others = members.withLockedValue { members in
            members.count == 1 ? [] : members.values.filter { $0 !== database }
        }
        others.forEach { $0.otherInstanceDidCommit() }
    }
}

/// The groups of all files that this process has open.
///
/// A file's group ends with its last member.
final class DatabaseGroups: Sendable {
    /// The groups of this process.
    static let shared = DatabaseGroups()

    private let groups = NIOLockedValueBox<[String: DatabaseGroup]>([:])

    /// Makes a database a member of its file's group.
    ///
    /// - Parameters:
    ///   - database: The database, which the group keeps until ``leave(_:)``.
    ///   - identity: Equal for databases of one file; `nil` for a database that cannot be shared.
    /// - Returns: The place in the group.
    func join(_ database: LocalDatabase, identity: String?) -> DatabaseMembership {
        guard let identity else {
            return DatabaseMembership(group: DatabaseGroup(), isFirst: true, hasOthers: { false }, leave: {})
        }
        return groups.withLockedValue { groups in
            let existing = groups[identity]
            let group = existing ?? DatabaseGroup()
            groups[identity] = group
            group.add(database)
            return DatabaseMembership(
                group: group,
                isFirst: existing == nil,
                hasOthers: { [weak self] in self?.hasMembers(besides: database, identity: identity) ?? false },
                leave: { [weak self] in self?.leave(group, database, identity: identity) }
            )
        }
    }

    /// Whether a file has other databases now, also in a group that began after a database had left.
    private func hasMembers(besides database: LocalDatabase, identity: String) -> Bool {
        groups.withLockedValue { $0[identity]?.hasMembers(besides: database) ?? false }
    }

    private func leave(_ group: DatabaseGroup, _ database: LocalDatabase, identity: String) {
        groups.withLockedValue { groups in
            if group.remove(database), groups[identity] === group { groups[identity] = nil }
        }
    }
}

/// A database's place in its group.
struct DatabaseMembership: Sendable {
    /// The group.
    let group: DatabaseGroup
    /// Whether the group had no member before.
    let isFirst: Bool
    /// Whether the file has other databases in this process, also after ``leave``.
    let hasOthers: @Sendable () -> Bool
    /// Gives up the place.
    ///
    /// Idempotent.
    let leave: @Sendable () -> Void
}
