public import Foundation
import PowerSyncCore

/// The service has no sync stream of the name that was subscribed to.
///
/// ``SyncSubscriptionDescription/unknownStream`` shows it in the sync status, ``SyncStreamSubscription/waitForFirstSync()``
/// throws it, and the log says it once. It goes away when a later connection finds the stream.
public struct UnknownSyncStreamError: Error, LocalizedError, Sendable, Hashable {
    /// The name that was subscribed to.
    public let streamName: String
    /// The streams that the service has listed for this client: those that it syncs by default, and others that were
    /// subscribed to.
    ///
    /// The service may have more.
    public let knownNames: [String]
    /// Those of ``knownNames`` that may have been meant, the nearest first.
    public let similarNames: [String]
    /// What is wrong, with the similar names.
    public let errorDescription: String?

    init(_ stream: UnknownStream) {
        streamName = stream.name
        knownNames = stream.knownNames
        similarNames = stream.similarNames
        errorDescription = stream.message
    }
}

extension UnknownSyncStreamError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? streamName }
}
