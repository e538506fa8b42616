/// How many payloads a responder may still send on a stream: the initial number, plus every REQUEST_N, minus what was
/// sent.
///
/// It has 63 bits and stays at the largest number, so no peer can make it overflow.
struct SendCredit: Sendable, Hashable {
    private(set) var count: Int64

    init(_ initial: RequestN) {
        count = Int64(initial.rawValue)
    }

    /// The requester allows more.
    ///
    /// - Returns: Whether there was none before.
    mutating func add(_ requestN: RequestN) -> Bool {
        let wasExhausted = count == 0
        let (sum, overflow) = count.addingReportingOverflow(Int64(requestN.rawValue))
        count = overflow ? .max : sum
        return wasExhausted
    }

    /// Takes the credit for one payload.
    ///
    /// - Returns: `false` when there is none.
    mutating func take() -> Bool {
        guard count > 0 else { return false }
        count -= 1
        return true
    }
}
