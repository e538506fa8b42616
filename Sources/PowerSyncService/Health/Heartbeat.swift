import PowerSyncServiceCore
import ServiceLifecycle

/// Shows that the process is alive while a call to the source or the storage takes long.
///
/// Such a call touches nothing until it returns: with a server that cannot be reached, connecting takes 15 s and a
/// statement 60 s, and the liveness probe has a limit of 10 s. A process that waits for a server gains nothing by being
/// started again. While a call of the source takes longer than ``patience``, replication says that it waits
/// (`ReplicatedSource`).
struct Heartbeat: Service {
    /// The time between two signs of life.
    static let interval = Duration.seconds(3)
    /// How long nothing may happen: longer than any other call, all of which have a time limit of their own.
    static let patience = Duration.seconds(120)

    /// Advanced by whatever the process is there to do.
    let progress: ChangeSignal
    /// Measures the time.
    let clock: any Clock<Duration>
    /// Shows that the process is alive.
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
