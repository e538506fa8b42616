import Synchronization

/// What a scripted backend has taken, transaction by transaction.
final class UploadedNames: Sendable {
    private let state = Mutex<[[String?]]>([])

    var names: [[String?]] { state.withLock { $0 } }

    func append(_ transaction: [String?]) {
        state.withLock { $0.append(transaction) }
    }
}
