package import PowerSyncSyncConfig

/// Why a sync config is not deployed; what was replicated before goes on.
package enum SyncConfigDeploymentError: Error, Sendable {
    /// The text has errors, which are among these findings.
    case rejected([ConfigDiagnostic])
    /// There is no active config that could be replicated again.
    case noActiveConfig
    /// Another config is being copied, and would be lost.
    case otherInProgress(ReplicationStreamID)
}

extension SyncConfigDeploymentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .rejected(let findings):
            (["The sync config has errors:"] + findings.map(\.description)).joined(separator: "\n  ")
        case .noActiveConfig: "No sync config is active: deploy one first."
        case .otherInProgress(let stream):
            "Replication stream \(stream) is being copied: wait until it is active, or deploy the active config to abandon it."
        }
    }
}
