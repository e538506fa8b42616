import NIOConcurrencyHelpers

/// Tells one watch that something of interest to it has been committed.
///
/// A ``ChangeHub`` knows what is of interest. Changes are kept until they are taken, however slow the watch is.
final class ChangeListener: Sendable {
    private let news = NIOLockedValueBox(ChangeNews())
    private let signal: AsyncStream<Void>.Continuation
    private let onFinish: @Sendable () -> Void

    /// "Look again": one element after any number of commits, for one task.
    ///
    /// Finishes when the database is closed.
    let signals: AsyncStream<Void>

    /// Whether it also hears of the opening of the database, which changes nothing.
    let hearsOfOpening: Bool

    /// Creates a listener that hears nothing yet.
    ///
    /// - Parameters:
    ///   - hearsOfOpening: Whether it also hears of the opening of the database.
    ///   - onFinish: Called when the database is closed.
    init(hearsOfOpening: Bool = false, onFinish: @escaping @Sendable () -> Void = {}) {
        self.hearsOfOpening = hearsOfOpening
        self.onFinish = onFinish
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Keeps news and sends a signal.
    func hear(_ news: ChangeNews) {
        self.news.withLockedValue { $0.formUnion(news) }
        signal.yield()
    }

    /// The news since the last call.
    func takeNews() -> ChangeNews {
        news.withLockedValue { news in
            defer { news = ChangeNews() }
            return news
        }
    }

    /// Ends ``signals``.
    func finish() {
        signal.finish()
        onFinish()
    }
}
