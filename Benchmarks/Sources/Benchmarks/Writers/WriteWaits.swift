/// The waits of writes that come at a fixed pace.
///
/// One writer waits for the end of each write, so a long wait would count as one write only, although many would have
/// come meanwhile. So a wait of 1 s also counts as those of the writes that were due during it: 995 ms, 990 ms, and so
/// on. A percentile is thereby that of a write at any moment.
struct WriteWaits {
    /// The time between two writes.
    static let pace = Duration.milliseconds(5)

    private var waits: [Duration] = []

    /// Measures a write, and pauses.
    mutating func measure(_ write: () async throws -> Void) async throws {
        let start = ContinuousClock.now
        try await write()
        var wait = ContinuousClock.now - start
        repeat {
            waits.append(wait)
            wait -= Self.pace
        } while wait > .zero
        try await Task.sleep(for: Self.pace)
    }

    /// The wait that a share of all writes does not exceed.
    func percentile(_ share: Double) -> Duration {
        let sorted = waits.sorted()
        guard !sorted.isEmpty else { return .zero }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}
