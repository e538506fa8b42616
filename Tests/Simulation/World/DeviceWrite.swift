import PowerSyncUpload

/// A write that an app has made on a device.
///
/// `@unchecked`: the simulation has one thread.
final class DeviceWrite: @unchecked Sendable {
    enum Kind { case insert, update, delete }

    /// What is known about the local transaction.
    enum Outcome {
        /// The process has died, or the user has signed out, before the end was known.
        case unknown
        /// It was committed.
        case committed
        /// It was rolled back.
        case failed
    }

    let kind: Kind
    let key: SourceHistory.Key
    /// The tag of the row after the write; `nil` for a deletion.
    let tag: String?
    /// The number of the local transaction, for each device.
    let transaction: Int
    var outcome = Outcome.unknown
    /// When the user had signed out with all that the device had, in nanoseconds of the simulation; `nil` while that is not so.
    var clearedAt: UInt64?

    init(_ kind: Kind, _ key: SourceHistory.Key, tag: String?, transaction: Int) {
        (self.kind, self.key, self.tag, self.transaction) = (kind, key, tag, transaction)
    }

    /// What names the write at the backend.
    var name: String { tag ?? Self.deletion(key.table, key.id) }

    /// What names an uploaded write: the tag that it writes, or the row that it deletes.
    static func name(of entry: UploadEntry) -> String {
        if case .string(let tag)? = entry.data?["tag"] { return tag }
        return deletion(entry.table, entry.id)
    }

    private static func deletion(_ table: String, _ id: String) -> String { "delete \(table)/\(id)" }

    /// Whether the source was put back to a backup without it: it is gone, or comes again at any time.
    func isTakenBack(in history: SourceHistory) -> Bool {
        history.takenKeys.contains(key) || tag.map(history.takenTags.contains) == true
    }

    /// Whether it must be in the source, in the queue of the device, or rejected.
    func isKept(in history: SourceHistory) -> Bool { outcome == .committed && !isTakenBack(in: history) }

    /// Whether it came to the source although it had been cleared before: later than a request of before can arrive.
    func isUploadedAfterClearing(in history: SourceHistory) -> Bool {
        guard let clearedAt, let tag, let commit = history.commitsOfTags[tag]?.first else { return false }
        return history.time(ofCommit: commit) > clearedAt + Self.longestDelay
    }

    /// How long a request may take to be carried out, in nanoseconds.
    private static let longestDelay: UInt64 = 600_000_000_000

    /// The commit of the source that has it; `nil` when there is none yet.
    func commit(in history: SourceHistory) -> Int? {
        tag.map { history.commitsOfTags[$0]?.first } ?? history.deletions[key]?.first
    }
}
