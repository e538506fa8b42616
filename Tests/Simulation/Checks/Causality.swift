/// A version of a row that somebody has seen.
struct SeenRow {
    var key: SourceHistory.Key
    var tag: String
}

/// What writers had seen when they wrote: a user who sees such a write sees what its writer saw, or what came after it.
///
/// What is noted are rows of the same table, and of the same space or user, as the row that was written: who may see the one may see
/// the other, with the same priority, and they come to a device together.
struct Causality {
    private var causes: [String: [SeenRow]] = [:]

    /// Notes what a writer had seen.
    ///
    /// - Parameters:
    ///   - tag: The tag of the write.
    ///   - seen: Rows of the same table, space and user.
    mutating func note(_ tag: String, saw seen: [SeenRow]) {
        if !seen.isEmpty { causes[tag] = seen }
    }

    /// Looks for a row whose writer had seen what the device does not show.
    ///
    /// Rows that the device has written itself are left out: they come and go with its queue. So is what was never in the source, and what
    /// a backup has taken back.
    ///
    /// - Parameters:
    ///   - rows: The tags of the rows that a device shows.
    ///   - own: The writes of the device that the source may not have yet.
    ///   - history: What the source had.
    /// - Returns: What is wrong; `nil` for nothing.
    func firstBreak(
        in rows: [SourceHistory.Key: String],
        own: [SourceHistory.Key: [DeviceWrite]],
        _ history: SourceHistory
    ) -> String? {
        for (key, tag) in rows {
            guard let causes = causes[tag], own[key] == nil, let scope = history.scope(ofTag: tag) else { continue }
            for cause in causes where own[cause.key] == nil && history.scope(ofTag: cause.tag) == scope {
                guard let order = history.orderOfTags[cause.tag], !history.takenTags.contains(cause.tag),
                    !history.takenKeys.contains(cause.key)
                else { continue }
                let shown = rows[cause.key]
                if let shown {
                    guard let shownOrder = history.orderOfTags[shown], shownOrder < order else { continue }
                } else if history.hasLeft(cause.key, afterOrder: order) {
                    continue
                }
                return "\(key.table)/\(key.id) is \(tag), whose writer had seen \(cause.key.table)/\(cause.key.id) as "
                    + "\(cause.tag), but it shows \(shown ?? "nothing")"
            }
        }
        return nil
    }
}
