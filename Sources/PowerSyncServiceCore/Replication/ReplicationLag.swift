/// How far a stream is behind its source: how old what was published last was then, or what is still on its way is now.
struct ReplicationLag {
    /// When the oldest transaction was committed of which something has come, and which is not published; seconds since 1970.
    private var oldest: Double?
    /// When the newest one was.
    private var newest: Double?
    /// How old the newest one was when it was published.
    private var published = 0.0

    /// Since when rows of a table that is locked cannot be read, in seconds since 1970.
    var lockedSince: Double?

    /// A transaction has come.
    mutating func didBegin(committedAt: Double) {
        oldest = oldest ?? committedAt
        newest = committedAt
    }

    /// Everything that has come is published.
    ///
    /// - Parameter now: The seconds since 1970.
    /// - Returns: How old the oldest transaction of it is, in seconds; `nil` when nothing has come.
    @discardableResult
    mutating func didPublish(at now: Double) -> Double? {
        defer { (oldest, newest) = (nil, nil) }
        if let newest { published = now - newest }
        return oldest.map { now - $0 }
    }

    /// There is nothing new in the source, or it has not answered for a while, so that the lag is not known.
    mutating func didCatchUp(silence: Duration? = nil) {
        published = silence.map { Double($0.components.seconds) } ?? 0
    }

    /// The lag in seconds, never negative, whatever the two clocks say.
    func seconds(at now: Double) -> Double {
        max(0, oldest.map { now - $0 } ?? published, lockedSince.map { now - $0 } ?? 0)
    }
}
