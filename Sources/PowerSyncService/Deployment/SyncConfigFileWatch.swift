package import Logging
import PowerSyncServiceCore
import ServiceLifecycle

/// Deploys the sync config of a running service when its file changes, and when it is asked to
/// (docs/service.md "Deploying a sync config").
///
/// The file may be replaced, written in several steps, and be gone for a while. A broken one is logged, and the present config
/// goes on. What cannot be read or recorded is logged once, and tried again.
package final class SyncConfigFileWatch: Service {
    /// How often to look: a change is taken up after two to four seconds.
    package static let interval = Duration.seconds(2)

    private let file: SyncConfigFile
    private let initial: SyncConfigFile.Content?
    private let logger: Logger
    private let deploy: @Sendable (SyncConfigFile.Content) async throws -> SyncConfigDeployment
    private let looks: RegularLooks

    /// Creates a watch over the file of a service.
    ///
    /// - Parameters:
    ///   - file: What to look at.
    ///   - service: Where to deploy to.
    ///   - clock: Measures ``interval``.
    ///   - logger: Gets what is wrong with a config at `error`.
    package convenience init(
        of file: SyncConfigFile,
        for service: SyncService,
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger
    ) {
        let initial = service.syncConfigText.map { text in
            SyncConfigFile.Content(
                text: text,
                file: file.path,
                versionLabel: service.configuration.syncConfigVersionLabel
            )
        }
        // The dashboard of the service shows what is wrong with the file.
        let logger = service.recentErrors.recorded(by: logger)
        self.init(file, deployed: initial, clock: clock, logger: logger) { try await service.deploy($0) }
    }

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - file: What to look at.
    ///   - initial: What is deployed already.
    ///   - clock: Measures ``interval``.
    ///   - logger: Gets what is wrong with a config.
    ///   - deploy: Deploys what is in the file.
    init(
        _ file: SyncConfigFile,
        deployed initial: SyncConfigFile.Content?,
        clock: any Clock<Duration>,
        logger: Logger,
        deploy: @escaping @Sendable (SyncConfigFile.Content) async throws -> SyncConfigDeployment
    ) {
        self.file = file
        self.initial = initial
        looks = RegularLooks(interval: Self.interval, clock: clock)
        self.logger = logger
        self.deploy = deploy
    }

    /// Reads the file now, whether it has changed or not.
    package func reload() {
        looks.ask()
    }

    /// Watches until shutdown or cancellation.
    package func run() async throws {
        try await untilShutdown { try await self.watch() }
    }

    private func watch() async throws {
        var state = WatchedFileState<FileStamp>()
        var known = initial
        var problem: String?
        var seen: UInt64 = 0
        while true {
            let isAsked = try await looks.next(after: &seen)
            switch state.didLook(file.stamp) {
            case .reportMissing where !isAsked:
                logger.warning(
                    "The file of the sync config is gone; the present config goes on",
                    metadata: [LogKey.file: "\(file.path)"]
                )
            case .none where !isAsked: break
            case .read, .none, .reportMissing:
                problem = try await takeUp(isAsked: isAsked, lastProblem: isAsked ? nil : problem, &known)
                // The problem need not be in the file: it may be its permissions, or the storage.
                if problem != nil { state.didFail() }
            }
        }
    }

    /// Deploys what is in the file.
    ///
    /// - Parameters:
    ///   - isAsked: Whether the look was requested.
    ///   - lastProblem: What has been logged already.
    ///   - known: What was taken up last.
    /// - Returns: Why it has to be tried again; `nil` when it has not.
    /// - Throws: `CancellationError`.
    private func takeUp(
        isAsked: Bool,
        lastProblem: String?,
        _ known: inout SyncConfigFile.Content?
    ) async throws -> String? {
        do {
            let content = try file.read()
            let isKnown = known?.isSame(as: content) ?? false
            guard isAsked || !isKnown else { return nil }
            do {
                log(try await deploy(content))
            } catch let error as ServiceError where error.code == .invalidSyncConfig {
                // It says the same until it is written again.
                log(error)
            }
            known = content
            return nil
        } catch let error as ServiceError where error.code == .notRunning {
            throw CancellationError()
        } catch let error as ServiceError {
            let problem = "\(error)"
            if problem != lastProblem { log(error) }
            return problem
        }
    }

    private func log(_ deployment: SyncConfigDeployment) {
        for warning in deployment.warnings {
            logger.warning("The sync config has a warning", metadata: [LogKey.diagnostic: "\(warning)"])
        }
        logger.notice(
            "The file of the sync config has been read",
            metadata: [
                LogKey.outcome: "\(deployment.outcome)",
                LogKey.replicationStream: .stringConvertible(deployment.streamID),
            ]
        )
    }

    private func log(_ error: ServiceError) {
        logger.error(
            "The sync config cannot be deployed; the present one goes on",
            metadata: [LogKey.error: "\(error)"]
        )
    }
}
