public import Foundation

extension PowerSyncDatabaseProtocol {
    /// Tells which views have changed; the first element comes at once.
    ///
    /// - Parameters:
    ///   - tables: The names of views, or of tables that the app created itself.
    ///   - throttle: How long changes are collected after the first one, in seconds.
    /// - Returns: What ``onChange(tables:throttle:triggerImmediately:)`` returns.
    public func onChange(
        tables: Set<String>,
        throttle: TimeInterval = DEFAULT_WATCH_THROTTLE
    ) -> AsyncThrowingStream<Set<String>, any Error> {
        onChange(tables: tables, throttle: throttle, triggerImmediately: true)
    }

    /// Tells which views have changed, with the default throttle.
    ///
    /// - Parameters:
    ///   - tables: The names of views, or of tables that the app created itself.
    ///   - triggerImmediately: Whether the first element comes at once; it is the empty set.
    /// - Returns: What ``onChange(tables:throttle:triggerImmediately:)`` returns.
    public func onChange(
        tables: Set<String>,
        triggerImmediately: Bool
    ) -> AsyncThrowingStream<Set<String>, any Error> {
        onChange(tables: tables, throttle: DEFAULT_WATCH_THROTTLE, triggerImmediately: triggerImmediately)
    }

    /// Tells which views have changed.
    ///
    /// - Parameters:
    ///   - tables: The names of views, or of tables that the app created itself.
    ///   - throttle: How long changes are collected after the first one, in seconds.
    ///   - triggerImmediately: Whether the first element comes at once; it is the empty set.
    /// - Returns: The names of those that have changed, in each element. The stream throws ``PowerSyncError`` when the throttle is no
    ///   time, or the database is not one of this SDK.
    public func onChange(
        tables: Set<String>,
        throttle: TimeInterval,
        triggerImmediately: Bool
    ) -> AsyncThrowingStream<Set<String>, any Error> {
        let watch = Result {
            try Argument.check(seconds: throttle, "throttle")
            return TableWatch(
                try requireOwn(for: "onChange").local,
                views: tables,
                throttle: Duration(clampingSeconds: throttle),
                triggerImmediately: triggerImmediately
            )
        }
        return AsyncThrowingStream {
            do {
                return try await watch.get().next()
            } catch is CancellationError {
                return nil
            }
        }
    }
}
