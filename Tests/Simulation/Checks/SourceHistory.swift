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

    /// The rows of a priority that a user sees from a commit on, by their tags.
    struct Version {
        var commit: Int
        var priority: Int
        var rows: [Key: String]
    }

    private struct Stored {
        var tag: String
        var scope: String?
        var user: String?
    }

    /// The number of the last commit; commits are counted from 1.
    private(set) var lastCommit = 0
    /// The commits in which each tag was written: more than one means that a write was applied twice.
    private(set) var commitsOfTags: [String: [Int]] = [:]
    /// The commits in which each row was deleted.
    private(set) var deletions: [Key: [Int]] = [:]
    /// The order in which tags were written.
    private(set) var orderOfTags: [String: Int] = [:]

    private var rows: [Key: Stored] = [:]
    private var spacesOfUsers: [String: Set<String>] = [:]
    private var versions: [String: [Int: [Version]]] = [:]
    private let users: [String]

    init(users: [String]) {
        self.users = users
        for user in users {
            versions[user] = Dictionary(
                uniqueKeysWithValues: WorldSchema.priorities.map { ($0, [Version(commit: 0, priority: $0, rows: [:])]) }
            )
        }
    }

    /// What a user saw of a priority, from the first commit to the last one; never empty.
    func versions(of user: String, _ priority: Int) -> [Version] { versions[user]?[priority] ?? [] }

    /// Whether a row is in the source now.
    func has(_ key: Key) -> Bool { rows[key] != nil }

    /// The rows of a table that a user sees now, in the order of their ids.
    func visible(_ table: String, to user: String) -> [String] {
        rows.filter { $0.key.table == table && isVisible($0.key, $0.value, to: user) }.map(\.key.id).sorted()
    }

    /// The ids of all rows of a table, in order.
    func all(_ table: String) -> [String] { rows.keys.filter { $0.table == table }.map(\.id).sorted() }

    /// A transaction was committed.
    func committed(_ changes: [Change]) {
        lastCommit += 1
        var changed: Set<Int> = []
        for change in changes {
            let key = Key(table: change.table, id: change.id)
            if let tag = change.tag {
                commitsOfTags[tag, default: []].append(lastCommit)
                orderOfTags[tag] = orderOfTags.count
                rows[key] = Stored(tag: tag, scope: change.scope, user: change.user)
            } else {
                deletions[key, default: []].append(lastCommit)
                rows[key] = nil
            }
            if change.table == "members" {
                changed.formUnion([1, 2])
            } else if let priority = WorldSchema.tables.first(where: { $0.name == change.table })?.priority {
                changed.insert(priority)
            }
        }
        if changes.contains(where: { $0.table == "members" }) {
            spacesOfUsers = [:]
            for (key, row) in rows where key.table == "members" {
                if let user = row.user, let space = row.scope { spacesOfUsers[user, default: []].insert(space) }
            }
        }
        for user in users {
            for priority in changed { addVersion(of: user, priority) }
        }
    }

    private func isVisible(_ key: Key, _ row: Stored, to user: String) -> Bool {
        guard let scope = row.scope, key.table != "members" else { return false }
        return key.table == "notes" ? scope == user : spacesOfUsers[user]?.contains(scope) == true
    }

    private func addVersion(of user: String, _ priority: Int) {
        let tables = Set(WorldSchema.tables.filter { $0.priority == priority }.map(\.name))
        let visible = rows.filter { tables.contains($0.key.table) && isVisible($0.key, $0.value, to: user) }.mapValues(
            \.tag
        )
        guard versions[user]?[priority]?.last?.rows != visible else { return }
        versions[user]?[priority]?.append(Version(commit: lastCommit, priority: priority, rows: visible))
    }
}
