public import Foundation
import PowerSyncCore

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
    /// Whether the subscription is not synced because there are too many.
    ///
    /// A client asks for 1,000 subscriptions at most, and for less where the service refuses that many: first for those that the app
    /// holds, then for those that it held last. The others keep their time to live. They are synced again when the app subscribes to
    /// them again, or when there is room.
    public let isLeftOut: Bool

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

extension SyncSubscriptionDescription: CustomStringConvertible {
    /// The stream and what is known about it, in a line.
    public var description: String {
        var parts = [identityText]
        if isDefault { parts.append("by default") }
        if hasExplicitSubscription { parts.append("subscribed") }
        if isLeftOut { parts.append("left out, because there are too many subscriptions") }
        if unknownStream != nil {
            parts.append("not known to the service")
        } else if !active {
            parts.append("not active")
        }
        parts.append(lastSyncedAt.map { "last synced at \(Date(timeIntervalSince1970: $0))" } ?? "never synced")
        return parts.joined(separator: ", ")
    }
}

extension SyncStreamStatus: CustomStringConvertible {
    /// The stream, what is known about it, and its download, in a line.
    public var description: String {
        progress.map { "\(subscription), downloading \($0.operationsText)" } ?? "\(subscription)"
    }
}

extension SyncStreamDescription {
    /// The name, and the parameters as JSON: `stream todos {"list":"1"}`.
    ///
    /// Parameters that cannot be stored, which may be nested too deeply for a text, are left out.
    var identityText: String {
        (try? Argument.check(self)) == nil ? "stream \(name)" : "stream \(StreamKey(self))"
    }
}
