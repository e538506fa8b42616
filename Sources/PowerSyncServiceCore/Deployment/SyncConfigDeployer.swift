package import Foundation
package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Makes sync configs the ones to replicate, also while the service runs (docs/service.md "Deploying a sync config").
///
/// It only records what is to be done: the ``Replicator`` is told, and does it. Clients are served from the active stream
/// until a new one has made its first checkpoint.
package final class SyncConfigDeployer: Sendable {
    /// What has become of a text.
    package struct Deployment: Sendable {
        /// What was done.
        package enum Outcome: String, Sendable {
            /// The text is that of the stream already.
            case unchanged
            /// The text is that of the stream already, which has got another label.
            case relabelled
            /// Tables are read for it: for its new parts, in the stream that is served, or all of them, in a new stream.
            case started
            /// Nothing had to be read: clients are served the config from now on.
            case served
            /// The text is that of the active stream, and another one that was being copied is abandoned.
            case rolledBack
        }

        /// What was done.
        package let outcome: Outcome
        /// The stream of the text.
        package let stream: ReplicationStream
        /// What it does with each stream of the config.
        package let plan: DeploymentPlan
        /// Findings that did not prevent it.
        package let warnings: [ConfigDiagnostic]
    }

    /// A text that was not deployed.
    package struct Rejection: Sendable {
        /// The text.
        package let content: String
        /// What is wrong with it.
        package let findings: [ConfigDiagnostic]
        /// When it was to be deployed.
        package let date: Date
    }

    /// Advanced after the set of streams has changed.
    package let streamsChanged = ChangeSignal()
    private let storage: any BucketStorage
    private let patternRefusal: SyncConfig.PatternRefusal?
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let lastRejection = NIOLockedValueBox<Rejection?>(nil)
    /// One deployment at a time: what is found before it holds until it is recorded.
    private let order = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)

    /// Creates a deployer.
    ///
    /// - Parameters:
    ///   - storage: Where deployed configs are recorded.
    ///   - patternRefusal: What the source cannot do; `nil` for a source that can do all.
    ///   - now: Tells the time for diagnostics.
    ///   - logger: Gets what was deployed at `notice`.
    package init(
        storage: any BucketStorage,
        patternRefusal: SyncConfig.PatternRefusal? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        logger: Logger
    ) {
        self.storage = storage
        self.patternRefusal = patternRefusal
        self.now = now
        self.logger = logger
    }

    /// The text that was rejected last, unless another one was deployed since.
    package var rejection: Rejection? { lastRejection.withLockedValue { $0 } }

    /// Makes a text the sync config to replicate.
    ///
    /// The text of the newest stream that is replicated changes nothing. That of the active stream abandons the one that is
    /// being copied, and so does any other text. A text with parts of the config that is served takes its place in its stream, once
    /// tables have been read for the other parts; one without begins a stream of its own.
    ///
    /// - Parameters:
    ///   - content: YAML.
    ///   - versionLabel: What operators call this version; another one alone changes nothing else.
    /// - Returns: What was done.
    /// - Throws: ``SyncConfigDeploymentError/rejected(_:)``, or an error of the storage.
    @discardableResult
    package func deploy(_ content: String, versionLabel: String? = nil) async throws -> Deployment {
        let result = SyncConfig.parse(content, patternRefusal: patternRefusal)
        guard let plan = result.plan else {
            lastRejection.withLockedValue { [date = now()] rejection in
                rejection = Rejection(content: content, findings: result.diagnostics, date: date)
            }
            throw SyncConfigDeploymentError.rejected(result.diagnostics)
        }
        let deployment = try await order.withSlot {
            try await record(content, versionLabel, plan, warnings: result.diagnostics)
        }
        lastRejection.withLockedValue { $0 = nil }
        return deployment
    }

    private func record(
        _ content: String,
        _ versionLabel: String?,
        _ plan: SyncPlan,
        warnings: [ConfigDiagnostic]
    ) async throws -> Deployment {
        let before = try await storage.streams()
        let stream = try await storage.deploy(content, versionLabel: versionLabel, plan: plan, mode: .keepingParts)
        // It may have become active just before.
        let alive = Set(try await storage.streams().filter { $0.state != .stop }.map(\.id))
        let abandoned = before.filter { $0.state == .processing && $0.id != stream.id && !alive.contains($0.id) }
        for other in abandoned {
            logger.notice(
                "A sync config that was being copied is abandoned",
                metadata: [
                    LogKey.replicationStream: .stringConvertible(other.id.rawValue),
                    LogKey.code: "\(ErrorCode.copyStopped)",
                ]
            )
        }
        let earlier = before.first { $0.id == stream.id }
        let outcome = outcome(of: stream, earlier, hasAbandoned: !abandoned.isEmpty)
        let deployment = DeploymentPlan(plan, among: before)
        switch outcome {
        case .started, .served:
            logger.notice("A sync config is deployed", metadata: metadata(of: stream))
            log(deployment)
        case .relabelled: logger.notice("The sync config has another version label", metadata: metadata(of: stream))
        case .rolledBack, .unchanged: break
        }
        if earlier?.writtenConfigs != stream.writtenConfigs || !abandoned.isEmpty { streamsChanged.advance() }
        return Deployment(outcome: outcome, stream: stream, plan: deployment, warnings: warnings)
    }

    private func outcome(
        of stream: ReplicationStream,
        _ earlier: ReplicationStream?,
        hasAbandoned: Bool
    ) -> Deployment.Outcome {
        guard let earlier else { return .started }
        if stream.configNumber > earlier.configNumber, earlier.next?.number != stream.configNumber { return .served }
        if let next = stream.next, next.number != earlier.next?.number { return .started }
        if hasAbandoned || (stream.next == nil && earlier.next != nil && stream.configNumber == earlier.configNumber) {
            return .rolledBack
        }
        let isRelabelled = earlier.deployedLabel != stream.deployedLabel
        return isRelabelled ? .relabelled : .unchanged
    }

    /// What deploying a text would do; nothing is recorded.
    ///
    /// - Parameter content: YAML.
    /// - Returns: What becomes of each stream, and findings that would not prevent it.
    /// - Throws: As ``deploy(_:versionLabel:)``.
    package func preview(_ content: String) async throws -> (plan: DeploymentPlan, warnings: [ConfigDiagnostic]) {
        let result = SyncConfig.parse(content, patternRefusal: patternRefusal)
        guard let plan = result.plan else { throw SyncConfigDeploymentError.rejected(result.diagnostics) }
        return (DeploymentPlan(plan, among: try await storage.streams()), result.diagnostics)
    }

    private func log(_ deployment: DeploymentPlan) {
        if let reason = deployment.everythingIsRead {
            logger.notice("All tables of the sync config are read", metadata: [LogKey.reason: "\(reason.rawValue)"])
            return
        }
        for change in deployment.streams {
            var metadata: Logger.Metadata = [
                LogKey.syncStream: "\(change.stream)", LogKey.change: "\(change.outcome.rawValue)",
                LogKey.reason: "\(change.reason)",
            ]
            if !change.tables.isEmpty { metadata[LogKey.tables] = .array(change.tables.map { "\($0)" }) }
            logger.notice("What the deployment does with a stream", metadata: metadata)
        }
    }

    private func metadata(of stream: ReplicationStream) -> Logger.Metadata {
        var metadata: Logger.Metadata = [LogKey.replicationStream: .stringConvertible(stream.id.rawValue)]
        if let label = stream.deployedLabel { metadata[LogKey.versionLabel] = "\(label)" }
        return metadata
    }

    /// Copies the source again for the active config, compiled anew.
    ///
    /// - Returns: The new stream.
    /// - Throws: ``SyncConfigDeploymentError``: there is no active config, another one is being copied, or this version finds
    ///   errors in the text. Or an error of the storage.
    package func reprocess() async throws -> ReplicationStream {
        try await order.withSlot {
            let streams = try await storage.streams()
            if let other = streams.first(where: { $0.state == .processing || $0.next != nil }) {
                throw SyncConfigDeploymentError.otherInProgress(other.id)
            }
            guard let active = streams.last(where: { $0.state.isServed }) else {
                throw SyncConfigDeploymentError.noActiveConfig
            }
            let result = SyncConfig.parse(active.content, patternRefusal: patternRefusal)
            guard let plan = result.plan else { throw SyncConfigDeploymentError.rejected(result.diagnostics) }
            let stream = try await storage.deploy(
                active.content,
                versionLabel: active.versionLabel,
                plan: plan,
                mode: .again
            )
            logger.notice("The source is copied again for the active sync config", metadata: metadata(of: stream))
            streamsChanged.advance()
            return stream
        }
    }
}
