import PowerSyncClient
import PowerSyncProtocol

/// How many attachments there are, by state.
public struct AttachmentQueueStats: Sendable, Equatable {
    /// The attachments of one state.
    public struct Share: Sendable, Equatable {
        /// How many rows there are.
        public let count: Int
        /// The sum of the sizes that are known.
        public let bytes: Int64

        /// Creates a share.
        ///
        /// - Parameters:
        ///   - count: How many rows there are.
        ///   - bytes: The sum of the sizes that are known.
        public init(count: Int = 0, bytes: Int64 = 0) {
            self.count = count
            self.bytes = bytes
        }
    }

    let shares: [AttachmentState: Share]

    /// The attachments of a state.
    public subscript(state: AttachmentState) -> Share {
        shares[state] ?? Share()
    }

    /// All attachments.
    public var total: Share {
        shares.values.reduce(Share()) { Share(count: $0.count + $1.count, bytes: $0.bytes + $1.bytes) }
    }
}

extension AttachmentQueueStats: CustomStringConvertible {
    /// How many attachments there are of each state, in a line.
    public var description: String {
        let states = AttachmentState.allCases.filter { self[$0].count > 0 }
        guard !states.isEmpty else { return "no attachments" }
        return states.map { "\(self[$0].count) \($0) (\(self[$0].bytes.counted("byte")))" }.joined(separator: ", ")
    }
}
