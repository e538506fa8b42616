/// Measures how long ago something was, on any clock.
package struct Stopwatch: Sendable {
    private let clock: any Clock<Duration>
    private let read: @Sendable () -> Duration

    /// Begins to measure.
    package init(_ clock: any Clock<Duration>) {
        self.clock = clock
        read = Self.reader(clock)
    }

    /// How long ago the measuring began.
    package var elapsed: Duration { read() }

    /// Begins again.
    package mutating func restart() {
        self = Stopwatch(clock)
    }

    private static func reader<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
