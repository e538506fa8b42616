/// How long a table is left before it is copied once more: without a pause the first time, and then ever more seldom, as long as the
/// log asks for it again and again.
struct CopyPace: Sendable {
    /// The first pause.
    private static let shortest = Duration.seconds(1)
    /// The longest pause.
    private static let longest = Duration.seconds(60)
    /// The first pause after rules of foreign keys, which change rows with each row that is referred to.
    private static let cascade = Duration.seconds(10)
    /// After this time without a copy, the next one is a first one.
    private static let memory = Duration.seconds(300)

    private var last: Duration?
    private var interval = Self.shortest

    /// How long to wait before the next copy.
    ///
    /// - Parameters:
    ///   - time: The time, from any fixed moment on.
    ///   - reason: Why the table is to be copied.
    /// - Returns: The time, zero for a first copy.
    func pause(at time: Duration, because reason: CopyReason) -> Duration {
        guard let last else { return .zero }
        let interval = reason == .cascade ? max(interval, Self.cascade) : interval
        return max(.zero, interval - (time - last))
    }

    /// Notes that the table is to be copied.
    mutating func copied(at time: Duration, because reason: CopyReason) {
        if let last, time - last < Self.memory {
            let used = reason == .cascade ? max(interval, Self.cascade) : interval
            interval = min(used * 2, Self.longest)
        } else {
            interval = Self.shortest
        }
        last = time
    }
}
