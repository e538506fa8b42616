/// A coalescing flag that says "look at the upload queue".
typealias UploadTrigger = CoalescingTrigger<UploadReason>

/// Why to look at the upload queue, from the weakest to the strongest reason.
enum UploadReason: Int, Comparable, Sendable {
    /// The service is alive: look whether something was left behind.
    case keepalive
    /// Something was written, or a new stream delivered its first line.
    case news

    static func < (lhs: UploadReason, rhs: UploadReason) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}
