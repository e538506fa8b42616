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
            /// A new stream copies the source.
            case started
            /// The text is that of the active stream, and another one that was being copied is abandoned.
            case rolledBack
        }

        /// What was done.
        package let outcome: Outcome
        /// The stream of the text.
        package let stream: ReplicationStream
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
    /// being copied, and so does any other text, which begins a stream of its own.
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
        let stream = try await storage.deploy(content, versionLabel: versionLabel, plan: plan)
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
        let isRelabelled = earlier.map { $0.versionLabel != stream.versionLabel } ?? false
        if earlier == nil {
            logger.notice("A sync config is deployed", metadata: metadata(of: stream))
        } else if isRelabelled {
            logger.notice("The sync config has another version label", metadata: metadata(of: stream))
        }
        if earlier == nil || !abandoned.isEmpty { streamsChanged.advance() }
        let outcome: Deployment.Outcome =
            if earlier == nil {
                .started
            } else if !abandoned.isEmpty {
                .rolledBack
            } else {
                isRelabelled ? .relabelled : .unchanged
            }
        return Deployment(outcome: outcome, stream: stream, warnings: warnings)
    }

    private func metadata(of stream: ReplicationStream) -> Logger.Metadata {
        var metadata: Logger.Metadata = [LogKey.replicationStream: .stringConvertible(stream.id.rawValue)]
        if let label = stream.versionLabel { metadata[LogKey.versionLabel] = "\(label)" }
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
            if let other = streams.first(where: { $0.state == .processing }) {
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
