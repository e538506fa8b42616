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
