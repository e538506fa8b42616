/// What has to be synced before an empty result says that there are no rows.
public struct SyncRequirement: Sendable {
    private enum Value: Sendable {
        case everything
        case priority(BucketPriority)
        case stream(any SyncStreamDescription)
    }

    private let value: Value

    /// A complete checkpoint.
    public static let everything = SyncRequirement(value: .everything)

    /// A checkpoint of this or a lower priority.
    ///
    /// - Parameter priority: 0 (highest) to 3.
    /// - Returns: The requirement.
    public static func priority(_ priority: BucketPriority) -> SyncRequirement {
        SyncRequirement(value: .priority(priority))
    }

    /// A complete sync of a stream.
    ///
    /// - Parameter stream: A stream or a subscription.
    /// - Returns: The requirement.
    public static func stream(_ stream: any SyncStreamDescription) -> SyncRequirement {
        SyncRequirement(value: .stream(stream))
    }

    /// Whether a status says that it has been synced, at any time.
    ///
    /// - Parameter status: The status.
    /// - Returns: Whether it says so.
    public func isMet(by status: any SyncStatusData) -> Bool {
        switch value {
        case .everything: status.hasSynced == true
        case .priority(let priority): status.statusForPriority(priority).hasSynced == true
        case .stream(let stream): status.forStream(stream: stream)?.subscription.hasSynced == true
        }
    }
}
