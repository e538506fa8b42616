import NIOConcurrencyHelpers

/// Adds up what is on its way of the parts of a file.
final class PartsProgress: Sendable {
    private let total: Int64
    private let report: @Sendable (Int64, Int64?) -> Void
    /// The bytes that the storage has, and those of each part that are on their way.
    private let state: NIOLockedValueBox<(stored: Int64, moving: [Int: Int64])>

    /// Begins with the bytes that the storage has.
    init(stored: Int64, of total: Int64, _ report: @escaping @Sendable (Int64, Int64?) -> Void) {
        self.total = total
        self.report = report
        state = NIOLockedValueBox((stored, [:]))
        report(stored, total)
    }

    /// So many bytes of a part are on their way.
    func moved(_ bytes: Int64, of number: Int) {
        change { $0.moving[number] = bytes }
    }

    /// The storage has a part.
    func stored(_ part: StoredAttachmentPart) {
        change {
            $0.moving[part.number] = nil
            $0.stored += part.size
        }
    }

    private func change(_ body: (inout (stored: Int64, moving: [Int: Int64])) -> Void) {
        let bytes = state.withLockedValue { state in
            body(&state)
            return state.moving.values.reduce(state.stored, +)
        }
        report(min(bytes, total), total)
    }
}
