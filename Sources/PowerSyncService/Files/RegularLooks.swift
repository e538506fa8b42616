import PowerSyncServiceCore

/// A timer for looks at files: at an interval, and at once when a look is requested.
///
/// Looking is all that works alike for every editor, file system and platform: inotify sees neither network file systems nor
/// what is mounted into containers.
struct RegularLooks: Sendable {
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let requests = ChangeSignal()

    /// Creates looks in a regular interval.
    init(interval: Duration, clock: any Clock<Duration>) {
        self.interval = interval
        self.clock = clock
    }

    /// Asks for a look now.
    func ask() { requests.advance() }

    /// Waits for the interval, or until a look is requested.
    ///
    /// - Parameter seen: What was asked for up to the last look, 0 before the first; changed to what was until this one.
    /// - Returns: Whether a look was requested.
    /// - Throws: `CancellationError`.
    func next(after seen: inout UInt64) async throws -> Bool {
        try await firstOf {
            try await clock.sleep(for: interval)
        } or: { [seen] in
            try await requests.wait(after: seen)
        }
        let version = requests.version
        defer { seen = version }
        return version > seen
    }
}
