import PowerSyncServiceCore
import ServiceLifecycle

/// Touches the liveness probe while a call to the source or the storage takes long.
///
/// Such a call touches nothing until it returns: with a server that cannot be reached, connecting takes 15 s and a
/// statement 60 s, and the liveness probe has a limit of 10 s. A process that waits for a server gains nothing by being
/// started again. While a call of the source takes longer than ``patience``, replication says that it waits
/// (`ReplicatedSource`).
struct Heartbeat: Service {
    /// The time between two touches of the liveness probe.
    static let interval = Duration.seconds(3)
    /// The time without progress after which the liveness probe is not touched any more: longer than the time limit of any call.
    static let patience = Duration.seconds(120)

    /// Advanced by each step of the work of the process.
    let progress: ChangeSignal
    /// Measures the time.
    let clock: any Clock<Duration>
    /// Touches the liveness probe.
    let touch: @Sendable () -> Void

    func run() async throws {
        let (pause, start) = (Self.interval, (seen: progress.version, silence: Duration.zero))
        try await PeriodicJob(every: pause, after: pause, clock: clock, startingWith: start) { state in
            let version = progress.version
            state = (version, version == state.seen ? state.silence + Self.interval : .zero)
            if state.silence < Self.patience { touch() }
        }.run()
    }
}
