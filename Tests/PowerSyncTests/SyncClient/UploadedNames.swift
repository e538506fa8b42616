import NIOConcurrencyHelpers

/// What a scripted backend has taken, transaction by transaction.
final class UploadedNames: Sendable {
    private let state = NIOLockedValueBox<[[String?]]>([])

    var names: [[String?]] { state.withLockedValue { $0 } }

    func append(_ transaction: [String?]) {
        state.withLockedValue { $0.append(transaction) }
    }
}
