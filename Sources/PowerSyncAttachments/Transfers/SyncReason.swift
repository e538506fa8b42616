import PowerSyncClient

/// A coalescing flag that says "look at the attachments".
typealias SyncTrigger = CoalescingTrigger<SyncReason>

/// Why to look at the attachments, from the weakest to the strongest reason.
enum SyncReason: Int, Comparable, Sendable {
    /// Rows have changed, or the interval has passed.
    case routine
    /// The service can be reached again, or the app asks: what failed is worth another attempt at once.
    case hope

    static func < (lhs: SyncReason, rhs: SyncReason) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}
