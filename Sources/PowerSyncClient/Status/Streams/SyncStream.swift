public import Foundation

/// The identity of a sync stream: a name and parameters.
public protocol SyncStreamDescription: Sendable {
    /// The name in the sync config.
    var name: String { get }
    /// The parameters; `nil` for none.
    var parameters: JsonParam? { get }
}

/// A sync stream that can be subscribed to.
///
/// Get one from ``PowerSyncDatabaseProtocol/syncStream(name:params:)``.
public protocol SyncStream: SyncStreamDescription {
    /// Subscribes. Works offline; cheap enough to be called often.
    ///
    /// A client that is connected asks the service for it when no other change of subscriptions has followed for 20 ms, or
    /// after a second: several in a row open the connection anew once. An app that subscribes all the time waits longer, up to 8
    /// seconds. Of more than 1,000 subscriptions those that the app held the longest ago are left out:
    /// ``SyncSubscriptionDescription/isLeftOut``.
    ///
    /// - Parameters:
    ///   - ttl: How long data stays after the last subscription ended, in seconds. `nil` means one day. 0 removes it at
    ///     the next opportunity.
    ///   - priority: Replaces the stream's priority: 0 to 3. Of several subscriptions the highest priority counts.
    /// - Returns: A handle that keeps the subscription alive.
    /// - Throws: ``PowerSyncError`` when `ttl` is negative or not a number, `priority` is none of these, the name is empty, longer
    ///   than 1,024 bytes or has a NUL, the parameters are longer than 64 KiB as JSON or no JSON, or the database cannot be
    ///   written.
    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription

    /// Ends all subscriptions of this stream at once, without their time to live.
    func unsubscribeAll() async throws
}

extension SyncStream {
    /// Subscribes with the default time to live and the stream's own priority.
    ///
    /// - Returns: A handle that keeps the subscription alive.
    public func subscribe() async throws -> any SyncStreamSubscription {
        try await subscribe(ttl: nil, priority: nil)
    }
}

/// A live subscription.
///
/// It ends with ``unsubscribe()`` or when the last reference goes away, whichever is first.
public protocol SyncStreamSubscription: SyncStreamDescription {
    /// Waits until the stream has been synced completely once; returns at once when it has been.
    ///
    /// - Throws: ``UnknownSyncStreamError`` when the service does not have the stream, `CancellationError`, or
    ///   ``PowerSyncError`` when the database is closed.
    func waitForFirstSync() async throws

    /// Ends this subscription; the data stays until its time to live is over. Idempotent.
    func unsubscribe() async throws
}
