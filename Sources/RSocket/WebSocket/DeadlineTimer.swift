import NIOCore

/// Tells a channel handler that the deadline of its connection has come.
struct DeadlineTimer {
    private var scheduled: (deadline: Duration, task: Scheduled<Void>)?

    /// Makes sure that the handler hears about a deadline.
    ///
    /// A timer that is too early stays: the connection then has nothing to do, and the next one is set.
    ///
    /// - Parameters:
    ///   - deadline: In the time of the event loop; `nil` for none.
    ///   - eventLoop: That of the handler.
    ///   - body: Called on the event loop. It calls ``fired()``, and sets the next deadline.
    mutating func set(_ deadline: Duration?, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
        guard let deadline else { return cancel() }
        if let scheduled, scheduled.deadline <= deadline { return }
        scheduled?.task.cancel()
        scheduled = (deadline, eventLoop.scheduleTask(deadline: NIODeadline(deadline), body))
    }

    /// Takes note that the timer has called.
    mutating func fired() {
        scheduled = nil
    }

    /// Forgets the deadline.
    mutating func cancel() {
        scheduled?.task.cancel()
        scheduled = nil
    }
}
