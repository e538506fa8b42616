import PowerSyncClient
import PowerSyncSQLite

/// Which attachment is transferred next.
///
/// ```
///            offer(rows)             next()               ended(id)
///  in table ───────────► ready ───────────────► running ───────────► (the next offer decides)
///                          │ ▲
///                          └─┘ offer replaces what is ready, never what is running
/// ```
///
/// An offer that finds an attachment running in another state than it began with is made again when it has ended; so is one that was
/// to repeat what has not ended yet (``repeatAfterEnd(_:)``).
///
/// Order: prioritized ids in the order of the list, then the oldest first. At most ``limit`` run at a time, none twice; up to
/// ``overdueLimit`` that wait for overdue calls of the app's run besides.
struct TransferSchedule {
    /// How many transfers run at a time.
    let limit: Int
    /// How many transfers that wait for overdue calls of the app's do not count against ``limit``.
    static let overdueLimit = 16
    /// Whether nothing is to begin.
    var isPaused = false

    /// What runs, with the state that it began with.
    private var running: [ExactText: AttachmentState] = [:]
    /// What runs, and waits for an overdue call of the app's.
    private var overdue: Set<ExactText> = []
    /// What runs, and was offered in another state, or is to be repeated.
    private var overtaken: Set<ExactText> = []
    private var ready: [ExactText: Attachment] = [:]
    /// The ids of `ready`, the oldest first, from `next` on; it may contain ids that have left `ready`.
    private var order: [ExactText] = []
    private var nextInOrder = 0
    private var priorities: [ExactText] = []

    /// Creates an empty schedule.
    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Whether nothing can begin, and nothing runs but what waits for overdue calls.
    var isDrained: Bool { running.count == overdue.count && ready.isEmpty }

    /// How many of the ``limit`` are in use.
    private var used: Int { running.count - min(overdue.count, Self.overdueLimit) }

    /// A call of the app's for a running transfer is overdue, or has returned after all.
    mutating func setOverdue(_ isOverdue: Bool, _ id: String) {
        let id = ExactText(id)
        if isOverdue, running[id] != nil { overdue.insert(id) } else { overdue.remove(id) }
    }

    /// Replaces what is ready.
    ///
    /// - Parameter attachments: The attachments that may be transferred now, the oldest first.
    mutating func offer(_ attachments: [Attachment]) {
        ready.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        nextInOrder = 0
        for attachment in attachments {
            let id = ExactText(attachment.id)
            if let state = running[id] {
                if state != attachment.state { overtaken.insert(id) }
                continue
            }
            guard ready.updateValue(attachment, forKey: id) == nil else { continue }
            order.append(id)
        }
    }

    /// An attachment is to be offered again when it has ended, if it runs: offers pass it over until then.
    mutating func repeatAfterEnd(_ id: String) {
        let id = ExactText(id)
        if running[id] != nil { overtaken.insert(id) }
    }

    /// Replaces the ids that go first, the most urgent first.
    mutating func prioritize(_ ids: [String]) {
        priorities = ids.map { ExactText($0) }
    }

    /// Takes the next attachment to transfer.
    ///
    /// - Returns: `nil` when nothing is ready, the limit is reached, or the schedule is paused.
    mutating func next() -> Attachment? {
        guard !isPaused, used < limit, !ready.isEmpty else { return nil }
        for id in priorities {
            if let attachment = begin(id) { return attachment }
        }
        while nextInOrder < order.count {
            defer { nextInOrder += 1 }
            if let attachment = begin(order[nextInOrder]) { return attachment }
        }
        return nil
    }

    private mutating func begin(_ id: ExactText) -> Attachment? {
        guard let attachment = ready.removeValue(forKey: id) else { return nil }
        running[id] = attachment.state
        return attachment
    }

    /// A transfer is over.
    ///
    /// - Returns: Whether an offer has passed it over that has more to do for it.
    @discardableResult
    mutating func ended(_ id: String) -> Bool {
        let id = ExactText(id)
        running[id] = nil
        overdue.remove(id)
        return overtaken.remove(id) != nil
    }
}
