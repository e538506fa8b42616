/// What has to be synced before an empty result says that there are no rows.
public struct SyncRequirement: Sendable {
    private let hasSynced: @Sendable (any SyncStatusData) -> Bool?

    /// A complete checkpoint.
    public static let everything = SyncRequirement(hasSynced: { $0.hasSynced })

    /// A checkpoint of this or a lower priority.
    ///
    /// - Parameter priority: 0 (highest) to 3.
    /// - Returns: The requirement.
    public static func priority(_ priority: BucketPriority) -> SyncRequirement {
        SyncRequirement(hasSynced: { $0.statusForPriority(priority).hasSynced })
    }

    /// A complete sync of a stream.
    ///
    /// - Parameter stream: A stream or a subscription.
    /// - Returns: The requirement.
    public static func stream(_ stream: any SyncStreamDescription) -> SyncRequirement {
        SyncRequirement(hasSynced: { $0.forStream(stream: stream)?.subscription.hasSynced })
    }

    /// Whether a status says that it has been synced, at any time.
    ///
    /// - Parameter status: The status.
    /// - Returns: Whether it says so.
    public func isMet(by status: any SyncStatusData) -> Bool {
        hasSynced(status) == true
    }
}
