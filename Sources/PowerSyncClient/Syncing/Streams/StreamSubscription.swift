import NIOConcurrencyHelpers
import PowerSyncCore

/// A handle on a stream.
///
/// Ends with ``unsubscribe()`` or with its last reference, exactly once.
final class StreamSubscription: SyncStreamSubscription {
    let name: String
    let parameters: JsonParam?
    private let key: StreamKey
    private let sync: SyncHandle
    /// `nil` after the subscription has ended.
    private let share: NIOLockedValueBox<LiveStreams.Share?>

    /// Creates a handle that owns a share.
    init(name: String, parameters: JsonParam?, share: LiveStreams.Share, sync: SyncHandle) {
        self.name = name
        self.parameters = parameters
        self.sync = sync
        key = share.key
        self.share = NIOLockedValueBox(share)
    }

    deinit {
        release()
    }

    func waitForFirstSync() async throws {
        try await sync.waitForStatus { [key] status in
            guard let stream = status.status(of: key) else { return false }
            if let unknown = stream.unknown { throw UnknownSyncStreamError(unknown) }
            return stream.lastSyncedAt != nil
        }
    }

    func unsubscribe() async throws {
        release()
    }

    private func release() {
        let share = share.withLockedValue { share in
            defer { share = nil }
            return share
        }
        if let share { sync.release(share) }
    }
}

extension StreamSubscription: CustomStringConvertible {
    var description: String { "subscription to \(identityText)" }
}
