/// The requester's account of a stream: what the responder may still send, and what waits to be consumed.
struct ReceiveCredit: Sendable, Hashable {
    private let window: CreditWindow
    /// Payloads that were requested and have not arrived.
    private(set) var outstandingCount: Int
    /// Payloads that have arrived and have not been consumed.
    private(set) var unconsumedCount = 0

    init(_ window: CreditWindow) {
        self.window = window
        outstandingCount = Int(window.size.rawValue)
    }

    /// A payload, or the first fragment of one, has arrived.
    ///
    /// - Returns: `false` when it was not requested.
    mutating func payloadArrived() -> Bool {
        guard outstandingCount > 0 else { return false }
        outstandingCount -= 1
        unconsumedCount += 1
        return true
    }

    /// The consumer has taken a payload.
    ///
    /// - Returns: How many payloads to request now; `nil` when there are enough.
    mutating func payloadConsumed() -> RequestN? {
        precondition(unconsumedCount > 0, "consumed more payloads than have arrived: \(self)")
        unconsumedCount -= 1
        let remaining = outstandingCount + unconsumedCount
        guard remaining <= window.refillThreshold else { return nil }
        let count = Int(window.size.rawValue) - remaining
        outstandingCount += count
        return RequestN(clamping: count)
    }
}
