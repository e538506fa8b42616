/// What each user could see after each commit of the source.
///
/// `@unchecked`: the simulation has one thread.
final class SourceHistory: @unchecked Sendable {
    /// A change of a row; it was deleted when it has no tag.
    struct Change {
        var table: String
        var id: String
        var tag: String?
        /// The space, or the user that it belongs to.
        var scope: String?
        /// Of a membership: the user.
        var user: String?
    }

    /// A row in a table.
    struct Key: Hashable {
        var table: String
        var id: String

        /// How urgent the table is.
        var priority: Int? { WorldSchema.tables.first { $0.name == table }?.priority }
    }

    /// The rows of a group that a user sees from a commit on, by their tags.
    struct Version {
        var commit: Int
        var group: Group
        var rows: [Key: String]
    }

    fileprivate struct Stored: Equatable {
        var tag: String
        var scope: String?
        var user: String?
    }

    /// The number of the last commit; commits are counted from 1.
    private(set) var lastCommit = 0
    /// When the commits were made, in nanoseconds of the simulation.
    private var timesOfCommits: [UInt64] = []
    /// The commits in which each tag was written: more than one means that a write was applied twice.
    private(set) var commitsOfTags: [String: [Int]] = [:]
    /// The commits in which each row was deleted.
    private(set) var deletions: [Key: [Int]] = [:]
    /// The order in which tags were written.
    private(set) var orderOfTags: [String: Int] = [:]
    private var lastOrder = 0
    /// What backups have taken back: the tags of writes.
    private(set) var takenTags: Set<String> = []
    /// The rows that were no longer as they had been, when a backup took that back.
    private(set) var takenKeys: Set<Key> = []

    private var rows: [Key: Stored] = [:]
    private var scopesOfTags: [String: String] = [:]
    /// When each row was deleted, or moved to another space or user: numbers of the order of ``orderOfTags``.
    private var departures: [Key: [Int]] = [:]
    private var spacesOfUsers: [String: Set<String>] = [:]
    private var versions: [String: [Group: [Version]]] = [:]
    private let users: [String]

    /// Rows that a device shows of one commit.
    enum Group: Hashable {
        /// All tables of a priority.
        case priority(Int)
        /// The docs of a space.
        case docs(String)
    }

    /// The source as it was at a commit.
    struct Backup {
        fileprivate var commit: Int
        fileprivate var rows: [Key: Stored]
    }

    init(users: [String]) { self.users = users }

    /// What a user saw of a group, from the first commit to the last one; never empty.
    func versions(of user: String, _ group: Group) -> [Version] {
        versions[user]?[group] ?? [Version(commit: 0, group: group, rows: [:])]
    }

    /// The space, or the user, of a row, by its tag.
    func scope(ofTag tag: String) -> String? { scopesOfTags[tag] }

    /// Whether a row was deleted, or moved to another space or user, after something else was written.
    func hasLeft(_ key: Key, afterOrder order: Int) -> Bool { departures[key]?.contains { $0 > order } == true }

    /// Whether a row is in the source now.
    func has(_ key: Key) -> Bool { rows[key] != nil }

    /// The rows of a table that a user sees now, in the order of their ids.
    func visible(_ table: String, to user: String) -> [String] {
        rows.filter { $0.key.table == table && isVisible($0.key, $0.value, to: user) }.map(\.key.id).sorted()
    }

    /// The rows of a table that belong to a space or a user, in the order of their ids.
    func rows(of table: String, in scope: String) -> [SeenRow] {
        rows.filter { $0.key.table == table && $0.value.scope == scope }
            .map { SeenRow(key: $0.key, tag: $0.value.tag) }
            .sorted { $0.key.id < $1.key.id }
    }

    /// The space, or the user, that a row belongs to now.
    func scope(of key: Key) -> String? { rows[key]?.scope }

    /// The ids of all rows of a table, in order.
    func all(_ table: String) -> [String] { rows.keys.filter { $0.table == table }.map(\.id).sorted() }

    /// When a commit was made, in nanoseconds of the simulation.
    func time(ofCommit commit: Int) -> UInt64 { timesOfCommits[commit - 1] }

    /// A transaction was committed, at a time in nanoseconds of the simulation.
    func committed(_ changes: [Change], at time: UInt64) {
        lastCommit += 1
        timesOfCommits.append(time)
        var changed: Set<Group> = []
        for change in changes {
            let key = Key(table: change.table, id: change.id)
            let former = rows[key]
            lastOrder += 1
            if let former, change.tag == nil || change.scope != former.scope {
                departures[key, default: []].append(lastOrder)
            }
            if let tag = change.tag {
                commitsOfTags[tag, default: []].append(lastCommit)
                orderOfTags[tag] = lastOrder
                scopesOfTags[tag] = change.scope
                rows[key] = Stored(tag: tag, scope: change.scope, user: change.user)
            } else {
                deletions[key, default: []].append(lastCommit)
                rows[key] = nil
            }
            for scope in [former?.scope, change.scope].compactMap(\.self) {
                changed.formUnion(groups(of: change.table, in: scope))
            }
        }
        if changes.contains(where: { $0.table == "members" }) { findMembers() }
        for user in users {
            for group in changed { addVersion(of: user, group) }
        }
    }

    /// The groups that a row of a table is in, or decides about.
    private func groups(of table: String, in scope: String) -> [Group] {
        if table == "members" { return [.priority(1), .priority(2), .docs(scope)] }
        if table == WorldSchema.docs { return [.docs(scope)] }
        return WorldSchema.tables.filter { $0.name == table }.map { .priority($0.priority) }
    }

    private func findMembers() {
        spacesOfUsers = [:]
        for (key, row) in rows where key.table == "members" {
            if let user = row.user, let space = row.scope { spacesOfUsers[user, default: []].insert(space) }
        }
    }

    // MARK: Backups

    /// The source as it is now.
    var backup: Backup { Backup(commit: lastCommit, rows: rows) }

    /// The source was put back to a backup: a commit like any other, but for what was committed since.
    func restore(_ backup: Backup, at time: UInt64) {
        let taken = (backup.commit + 1)..<(lastCommit + 1)
        lastCommit += 1
        timesOfCommits.append(time)
        takenKeys.formUnion(rows.filter { backup.rows[$0.key] != $0.value }.keys)
        rows = backup.rows
        for (tag, commits) in commitsOfTags {
            let left = commits.filter { !taken.contains($0) }
            guard left.count < commits.count else { continue }
            commitsOfTags[tag] = left.isEmpty ? nil : left
            if left.isEmpty { orderOfTags[tag] = nil }
            takenTags.insert(tag)
        }
        takenKeys.formUnion(deletions.filter { $0.value.contains(where: taken.contains) }.keys)
        deletions = deletions.mapValues { $0.filter { !taken.contains($0) } }.filter { !$0.value.isEmpty }
        findMembers()
        let groups = Set(versions.values.flatMap(\.keys))
        for user in users {
            for group in groups { addVersion(of: user, group) }
        }
    }

    // MARK: Versions

    private func isVisible(_ key: Key, _ row: Stored, to user: String) -> Bool {
        guard let scope = row.scope, key.table != "members" else { return false }
        return key.table == "notes" ? scope == user : spacesOfUsers[user]?.contains(scope) == true
    }

    private func addVersion(of user: String, _ group: Group) {
        let visible = rows.filter { isIn(group, $0.key, $0.value) && isVisible($0.key, $0.value, to: user) }
            .mapValues(\.tag)
        guard versions(of: user, group).last?.rows != visible else { return }
        versions[user, default: [:]][group, default: [Version(commit: 0, group: group, rows: [:])]].append(
            Version(commit: lastCommit, group: group, rows: visible)
        )
    }

    private func isIn(_ group: Group, _ key: Key, _ row: Stored) -> Bool {
        switch group {
        case .priority(let priority): key.priority == priority
        case .docs(let space): key.table == WorldSchema.docs && row.scope == space
        }
    }
}
