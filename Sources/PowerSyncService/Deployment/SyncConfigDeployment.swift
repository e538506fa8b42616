import PowerSyncSyncConfig
import PowerSyncServiceCore

/// What ``SyncService/deploy(syncConfig:versionLabel:)`` has done.
public struct SyncConfigDeployment: Sendable, Hashable {
    /// The kinds of results.
    public struct Outcome: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case unchanged, relabelled, started, served, rolledBack
        }

        private let value: Value

        /// The text is the one that is replicated already.
        public static let unchanged = Outcome(value: .unchanged)
        /// The text is the one that is replicated already, and has another label from now on.
        public static let relabelled = Outcome(value: .relabelled)
        /// Tables are read for the text, those of new and changed queries or all of them.
        ///
        /// Clients are served the text once they are read.
        public static let started = Outcome(value: .started)
        /// No table had to be read: clients are served the text from now on.
        public static let served = Outcome(value: .served)
        /// The text is the one that clients are served, and another one that was being copied is abandoned.
        public static let rolledBack = Outcome(value: .rolledBack)

        /// The name of the outcome.
        public var description: String { value.rawValue }
    }

    /// What was done.
    public let outcome: Outcome
    /// The number of the replication stream, which is a part of the names of its buckets: that of the text before, if the new one keeps
    /// something of it.
    public let streamID: Int64
    /// The name of the stream in the source: that of its slot in PostgreSQL.
    public let sourceHandle: String
    /// What becomes of the streams of the text, then of those that are no longer in it, one a line:
    /// `lists: kept (unchanged)`, `todos: read from todos (the queries of its rows changed)`, `old: removed (no longer in the config)`.
    public let streams: [String]
    /// Findings that did not prevent it, one a line: `sync.yaml:4:12: warning: … [code]`.
    public let warnings: [String]

    init(_ deployment: SyncConfigDeployer.Deployment) {
        outcome =
            switch deployment.outcome {
            case .unchanged: .unchanged
            case .relabelled: .relabelled
            case .started: .started
            case .served: .served
            case .rolledBack: .rolledBack
            }
        streamID = deployment.stream.id.rawValue
        sourceHandle = deployment.stream.sourceHandle
        streams = deployment.plan.streams.map(\.description)
        warnings = deployment.warnings.map(\.description)
    }
}

extension SyncService {
    /// Makes a text the sync config of this service, while it runs.
    ///
    /// Returns when the text is recorded in the storage. Tables of new and changed queries are read at once, in the background:
    /// clients are served what they had until then, then their streams end, and they come back. They keep the buckets of queries that
    /// are the same. No change of the source is lost or shown twice.
    ///
    /// The text of the config that clients are served abandons one that is being copied; of two that are deployed one after the
    /// other, the second one counts.
    ///
    /// ```swift
    /// let deployment = try await service.deploy(syncConfig: text)
    /// print(deployment.outcome, deployment.streamID)  // started 2
    /// ```
    ///
    /// At the next start, the service deploys what its configuration names, unless that is
    /// ``ServiceConfiguration/SyncConfigSource/deployed``.
    ///
    /// Waits for a service that is starting.
    ///
    /// - Parameters:
    ///   - text: YAML.
    ///   - versionLabel: What operators call this version. The same text with another label, or with none, is not copied again.
    /// - Returns: What was done.
    /// - Throws: `ServiceError` with code `invalidSyncConfig` and all diagnostics, `storage`, or `notRunning` when the service
    ///   has ended; `CancellationError`. Whatever is thrown, the present config goes on.
    @discardableResult
    public func deploy(syncConfig text: String, versionLabel: String? = nil) async throws -> SyncConfigDeployment {
        try await deploy(SyncConfigFile.Content(text: text, file: "sync.yaml", versionLabel: versionLabel))
    }

    /// Makes a text the sync config of this service; see ``deploy(syncConfig:versionLabel:)``.
    @discardableResult
    func deploy(_ content: SyncConfigFile.Content) async throws -> SyncConfigDeployment {
        let deployer = try await waitForParts().deployer
        do {
            return SyncConfigDeployment(try await deployer.deploy(content.text, versionLabel: content.versionLabel))
        } catch SyncConfigDeploymentError.rejected(let findings) {
            throw ServiceError(
                .invalidSyncConfig,
                "the sync config has errors, and is not deployed",
                file: content.file,
                diagnostics: findings.map { $0.formatted(file: content.file) }
            )
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ServiceError(.storage, "the sync config cannot be recorded in the storage", underlyingError: error)
        }
    }
}
