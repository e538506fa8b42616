import NIOCore

/// A clock whose sleeps leave nothing behind when they are cancelled.
///
/// With the clocks of the standard library, a cancelled sleep stays in the queue of its executor until its time has come: for a
/// stream that is opened and closed, until its token would have expired.
struct EventLoopClock: Clock {
    /// The loops whose timers are used, in turn.
    let eventLoops: any EventLoopGroup

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        let timer = eventLoops.next().scheduleTask(in: TimeAmount(deadline - now)) {}
        try await withTaskCancellationHandler {
            do {
                try await timer.futureResult.get()
            } catch EventLoopError.cancelled {
                throw CancellationError()
            }
        } onCancel: {
            timer.cancel()
        }
    }
}
