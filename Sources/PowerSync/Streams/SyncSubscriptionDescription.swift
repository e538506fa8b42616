public import Foundation

/// What is known about a stream that is subscribed to, or synced by default.
public struct SyncSubscriptionDescription: SyncStreamDescription {
    /// The name in the sync config.
    public let name: String
    /// The parameters; `nil` for none.
    public let parameters: JsonParam?
    /// Whether the service listed the stream in the last checkpoint.
    public let active: Bool
    /// Whether the service syncs the stream without a subscription.
    public let isDefault: Bool
    /// Whether the app has subscribed.
    public let hasExplicitSubscription: Bool
    /// When the subscription ends unless it is renewed, in seconds since 1970.
    public let expiresAt: TimeInterval?
    /// When the stream was last synced completely, in seconds since 1970.
    public let lastSyncedAt: TimeInterval?
    /// That the service does not have a stream of this name; `nil` if it has, and until a checkpoint told.
    ///
    /// A stream that is named rightly and denied, because a parameter is missing for example, is not unknown.
    public let unknownStream: UnknownSyncStreamError?

    /// Whether the stream was ever synced completely.
    public var hasSynced: Bool { lastSyncedAt != nil }
}

/// The status of one stream.
public struct SyncStreamStatus: Sendable {
    /// The download of the stream's data; `nil` unless a download is active.
    public let progress: (any ProgressWithOperations)?
    /// The stream.
    public let subscription: SyncSubscriptionDescription
}
