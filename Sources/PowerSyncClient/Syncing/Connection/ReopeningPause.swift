/// How long a stream stays open at least before it is opened anew for changes of subscriptions.
///
/// ```
///   opened ──▶ opened anew ──▶ 1 s ──▶ opened anew ──▶ 2 s ──▶ … 4 s ──▶ … 8 s ──▶ … 8 s
/// ```
///
/// The pause doubles as long as no stream stays open for twice its ``length(afterOpeningFor:)``, and for as long as a change waits
/// for others. After one that does, the pause is the first one again. So one change after a while has no pause before it, and an app
/// that subscribes all the time spends little of the time opening streams.
struct ReopeningPause: Sendable, Equatable {
    /// The first pause: 1 s.
    static let first = Duration.seconds(1)
    /// The longest pause: 8 s.
    static let longest = Duration.seconds(8)

    /// The pause; none before the stream was opened anew.
    private var pause = Duration.zero

    /// How long the stream that was opened stays as it is.
    ///
    /// - Parameter opening: How long opening it took. The pause is not shorter, so that a client whose streams are opened slowly is
    ///   connected for half of the time at least.
    /// - Returns: The time from when it was opened.
    func length(afterOpeningFor opening: Duration) -> Duration {
        pause == .zero ? .zero : max(pause, opening)
    }

    /// The stream is opened anew, without a delay.
    ///
    /// - Parameters:
    ///   - lifetime: How long it was open.
    ///   - opening: How long opening it took.
    mutating func streamReopens(after lifetime: Duration, openedIn opening: Duration) {
        // An app that never stops subscribing keeps its changes waiting after the pause, which is not a time without changes.
        let limit = length(afterOpeningFor: opening) * 2 + SubscriptionChanges.longestWait
        pause = pause > .zero && lifetime < limit ? min(pause * 2, Self.longest) : Self.first
    }
}
