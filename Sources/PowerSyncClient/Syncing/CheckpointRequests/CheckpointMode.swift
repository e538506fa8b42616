public import Foundation

/// How the client learns that the service has seen the local writes that were uploaded.
///
/// Encodes as `"legacy"` or `"requests"`.
public enum CheckpointMode: Sendable, Encodable {
    /// The service numbers write checkpoints.
    ///
    /// Works with every service.
    case legacy
    /// The client numbers them and asks for them, also when nothing was written: see
    /// ``PowerSyncDatabaseProtocol/requestCheckpoint()``.
    ///
    /// - `checkpointRequestRetryDelay`: the time after which a request that has not been answered by a checkpoint is sent
    ///   again, in seconds; `nil` and less than 10 mean 10.
    case requests(checkpointRequestRetryDelay: TimeInterval? = nil)

    /// Encodes the name of the mode.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .legacy: try container.encode("legacy")
        case .requests: try container.encode("requests")
        }
    }

    /// The least delay between two posts of a request: 10 s.
    private static let leastDelay: TimeInterval = 10

    /// How long to wait before a request is posted again; `nil` in the legacy mode.
    var retryInterval: Duration? {
        guard case .requests(let delay) = self else { return nil }
        // Not the other way round, which NaN would pass.
        guard let delay, delay > CheckpointMode.leastDelay else { return .seconds(CheckpointMode.leastDelay) }
        return Duration(clampingSeconds: delay)
    }
}
