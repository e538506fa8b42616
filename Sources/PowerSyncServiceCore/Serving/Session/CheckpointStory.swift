import PowerSyncProtocol

/// Counts the operations and bytes of a stream since its last log line about a checkpoint, and the time by activity
/// since the announcement.
///
/// A stream has at most one such line a second. What a line leaves out is in the next one: the operations and bytes of
/// all lines add up to what was sent.
struct CheckpointStory {
    /// The contents of a line.
    struct Line: Equatable {
        /// Operations since the line before.
        var operations: Int
        /// Bytes of lines since the line before, before compression.
        var bytes: Int
        /// The seconds since the checkpoint was announced.
        var total: Double
        /// The seconds in which the session was reading, sending, or waiting for either.
        var spent: [ClientStreamActivity: Double]
        /// Whether at least a second has passed since the line before.
        var isDue: Bool
    }

    /// The least time between two lines: 1 s.
    static let pause = 1.0
    /// The activities whose time is told apart.
    private static let activities: [ClientStreamActivity] = [.reading, .sending, .waitingForSlot, .waitingForMemory]

    private var operations = 0
    private var bytes = 0
    /// The time of the announcement, in seconds since 1970.
    private var announcedAt = 0.0
    /// The time of the last log line, in seconds since 1970; infinite before the first.
    private var lineAt = -Double.infinity
    /// The seconds of each of ``activities``.
    private var spent: (Float, Float, Float, Float) = (0, 0, 0, 0)

    /// A checkpoint is announced: its time begins.
    mutating func didAnnounce(at now: Double) {
        announcedAt = now
        spent = (0, 0, 0, 0)
    }

    /// Something was sent.
    mutating func didSend(operations: Int, bytes: Int) {
        self.operations += operations
        self.bytes += bytes
    }

    /// The session has ended an activity.
    ///
    /// Only the time since the announcement counts.
    ///
    /// - Parameters:
    ///   - activity: The activity.
    ///   - start: When it began, in seconds since 1970.
    ///   - end: When it ended.
    mutating func didEnd(_ activity: ClientStreamActivity, from start: Double, to end: Double) {
        let seconds = Float(max(0, end - max(start, announcedAt)))
        switch activity {
        case .reading: spent.0 += seconds
        case .sending: spent.1 += seconds
        case .waitingForSlot: spent.2 += seconds
        case .waitingForMemory: spent.3 += seconds
        case .opening, .waitingForCheckpoint, .waitingForClient: break
        }
    }

    /// Makes a line.
    ///
    /// One that is due is counted as written.
    ///
    /// - Parameters:
    ///   - now: The seconds since 1970.
    ///   - activity: What the session is doing.
    ///   - start: Since when, in seconds since 1970.
    /// - Returns: The line.
    mutating func takeLine(at now: Double, while activity: ClientStreamActivity, since start: Double) -> Line {
        var current = self
        current.didEnd(activity, from: start, to: now)
        let (reading, sending, slot, memory) = current.spent
        let seconds = [reading, sending, slot, memory].map { Double($0) }
        let line = Line(
            operations: operations,
            bytes: bytes,
            total: max(0, now - announcedAt),
            spent: Dictionary(uniqueKeysWithValues: zip(Self.activities, seconds).filter { $1 > 0 }),
            // The wall clock may have been set back.
            isDue: abs(now - lineAt) >= Self.pause
        )
        if line.isDue { (operations, bytes, lineAt) = (0, 0, now) }
        return line
    }
}
