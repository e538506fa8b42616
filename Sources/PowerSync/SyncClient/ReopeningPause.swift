/// How long changes of subscriptions wait after the sync stream was opened anew, before it is opened anew for them.
///
/// ```
///   opened anew ──▶ 1 s ──▶ opened anew ──▶ 2 s ──▶ … 4 s ──▶ … 8 s ──▶ … 8 s
/// ```
///
/// The pause doubles as long as one follows the other: when the stream is opened anew within twice the pause. After a longer time
/// the pause is the first one again. So one change after a while has no pause before it, and an app that subscribes all the time
/// spends little of the time opening streams.
struct ReopeningPause: Sendable, Equatable {
    /// The first pause: 1 s.
    static let first = Duration.seconds(1)
    /// The longest pause: 8 s.
    static let longest = Duration.seconds(8)

    private var pause = Self.first
    private var lastReopening: Duration?

    /// When the stream may be opened anew for a change; `nil` for at any time.
    var end: Duration? { lastReopening.map { $0 + pause } }

    /// The stream is opened anew, without a delay.
    mutating func streamReopens(at now: Duration) {
        let isSteady = lastReopening.map { now - $0 < pause * 2 } ?? false
        pause = isSteady ? min(pause * 2, Self.longest) : Self.first
        lastReopening = now
    }
}
