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
        do {
            try await cancelWhenGracefulShutdown { try await beat() }
        } catch is CancellationError {
            return
        }
    }

    private func beat() async throws {
        var (seen, silence) = (progress.version, Duration.zero)
        while true {
            try await clock.sleep(for: Self.interval)
            let version = progress.version
            silence = version == seen ? silence + Self.interval : .zero
            seen = version
            if silence < Self.patience { touch() }
        }
    }
}
