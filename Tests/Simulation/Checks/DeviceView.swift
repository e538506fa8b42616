/// What a device has shown so far, compared with what its user could see.
///
/// For each priority, the rows of a device are those of one commit of the source, but for those that it has written itself: as long as
/// the write is not in that commit, and until the next rest if it was rejected, they may be as it has written them. The commit never goes
/// back, and that of a priority is not newer than that of a more urgent one.
///
/// The docs of a space are those of one commit, too, or none: whether and when a device has them is up to its subscriptions. With priority 0
/// they come while local writes wait for their upload, but none of them goes before these are acknowledged: rows go with complete checkpoints
/// only, as the protocol says.
///
/// A device may show what several commits have in common; the oldest possible one is assumed, so that no other order is ruled out.
struct DeviceView {
    /// What a device has written.
    struct Writes {
        /// The writes of each row, in order.
        var own: [SourceHistory.Key: [DeviceWrite]]
        /// The last write of a row, where it is certain that the device shows it until it has a commit with it.
        var shown: [SourceHistory.Key: DeviceWrite]
        /// Docs that the next complete checkpoint looks at again: it may find that they are gone.
        var awaitingComplete: Set<SourceHistory.Key> = []
    }

    /// The oldest commit that each priority may show; none before its first sync.
    private var commits: [Int: Int] = [:]
    /// The oldest commit that the docs of each space may show.
    private var commitsOfDocs: [String: Int] = [:]

    /// Compares the rows that a device shows in one state of its file.
    ///
    /// - Parameters:
    ///   - rows: The tags of the rows.
    ///   - user: The user of the device.
    ///   - history: What users could see.
    ///   - writes: What the device has written.
    ///   - mixed: The spaces whose docs may be those of two commits, and are not compared.
    /// - Throws: ``Violation``
    mutating func show(
        _ rows: [SourceHistory.Key: String],
        to user: String,
        _ history: SourceHistory,
        _ writes: Writes,
        mixed: Set<String>
    ) throws {
        var least: Int?
        for priority in WorldSchema.priorities.reversed() {
            let tables = Set(WorldSchema.tables.filter { $0.priority == priority }.map(\.name))
            let shown = rows.filter { tables.contains($0.key.table) }
            let beginning = [commits[priority], least].compactMap(\.self).max()
            guard
                let commit = firstCommit(
                    like: shown,
                    from: beginning,
                    history.versions(of: user, .priority(priority)),
                    history,
                    writes
                )
            else {
                if beginning == nil, shown.keys.allSatisfy({ writes.own[$0] != nil }) { continue }
                throw Violation(
                    describe(
                        shown,
                        "of priority \(priority)",
                        from: beginning ?? 0,
                        history.versions(of: user, .priority(priority)),
                        history,
                        writes
                    )
                )
            }
            commits[priority] = commit
            least = commit
        }
        try showDocs(rows, to: user, history, writes, mixed: mixed)
    }

    private mutating func showDocs(
        _ rows: [SourceHistory.Key: String],
        to user: String,
        _ history: SourceHistory,
        _ writes: Writes,
        mixed: Set<String>
    ) throws {
        let docs = rows.filter { $0.key.table == WorldSchema.docs }
        let spaces = Dictionary(grouping: docs, by: { history.scope(ofTag: $0.value) ?? "" })
        for (space, shown) in spaces.sorted(by: { $0.key < $1.key }) where !mixed.contains(space) {
            let (shown, versions) = (
                Dictionary(uniqueKeysWithValues: shown.map { ($0.key, $0.value) }),
                history.versions(of: user, .docs(space))
            )
            let beginning = commitsOfDocs[space]
            guard let commit = firstCommit(like: shown, from: beginning, versions, history, writes) else {
                throw Violation(
                    describe(shown, "in docs of \(space)", from: beginning ?? 0, versions, history, writes)
                )
            }
            commitsOfDocs[space] = commit
        }
    }

    private func firstCommit(
        like shown: [SourceHistory.Key: String],
        from beginning: Int?,
        _ versions: [SourceHistory.Version],
        _ history: SourceHistory,
        _ writes: Writes
    ) -> Int? {
        let beginning = beginning ?? 0
        let first = versions.lastIndex { $0.commit <= beginning } ?? 0
        for (index, version) in versions.enumerated().dropFirst(first) {
            let commit = max(beginning, version.commit)
            let end = index + 1 < versions.count ? versions[index + 1].commit - 1 : .max
            if difference(shown, version, from: commit, to: end, history, writes) == nil { return commit }
        }
        return nil
    }

    /// A row that is not as it was at one of some commits, in which the source was the same; `nil` when all are.
    private func difference(
        _ shown: [SourceHistory.Key: String],
        _ version: SourceHistory.Version,
        from first: Int,
        to last: Int,
        _ history: SourceHistory,
        _ writes: Writes
    ) -> SourceHistory.Key? {
        func isAsExpected(_ key: SourceHistory.Key, _ tag: String?) -> Bool {
            if let write = writes.shown[key], (write.commit(in: history) ?? .max) > last { return tag == write.tag }
            if tag == version.rows[key] { return true }
            if version.rows[key] == nil, writes.awaitingComplete.contains(key) { return true }
            // What a write has made of the row that the commit does not have: another value is none that the device may show.
            return writes.own[key]?.contains { $0.tag == tag && ($0.commit(in: history) ?? .max) > first } == true
        }
        if let key = shown.first(where: { !isAsExpected($0.key, $0.value) })?.key { return key }
        return version.rows.keys.first { shown[$0] == nil && !isAsExpected($0, nil) }
            ?? writes.shown.first { key, write in
                version.group == key.priority.map(SourceHistory.Group.priority) && shown[key] == nil
                    && version.rows[key] == nil
                    && !isAsExpected(key, nil)
            }?.key
    }

    private func describe(
        _ shown: [SourceHistory.Key: String],
        _ group: String,
        from beginning: Int,
        _ versions: [SourceHistory.Version],
        _ history: SourceHistory,
        _ writes: Writes
    ) -> String {
        var text = "the rows \(group) are those of no commit from \(beginning) to \(history.lastCommit)"
        for version in versions.suffix(4) {
            guard
                let key = difference(
                    shown,
                    version,
                    from: max(version.commit, beginning),
                    to: version.commit,
                    history,
                    writes
                )
            else { continue }
            let own = writes.own[key]?.last.map { ", and last written here as \($0.tag ?? "deleted")" } ?? ""
            text += "; at \(version.commit), \(key.table)/\(key.id) is \(version.rows[key] ?? "not there")\(own)"
            text += ", but it shows \(shown[key] ?? "nothing")"
        }
        return text
    }
}
