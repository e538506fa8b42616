import NIOCore

/// Puts requests and payloads together that arrive in fragments, for all streams of a connection.
///
/// ```
/// stream 1   REQUEST_STREAM or PAYLOAD, F     metadata, or its beginning; then data
///            PAYLOAD, F                       more metadata as long as there was no data; more data
///            PAYLOAD                          the last fragment
/// ```
///
/// Fragments of different streams may alternate. No end of the sync protocol sends fragments; the limit on all
/// incomplete payloads together is what an attacker meets.
struct FragmentAssembler: Sendable {
    private let maximumHeldByteCount: Int
    private var partials: [StreamID: Payload] = [:]
    /// The bytes of all incomplete payloads.
    private(set) var heldByteCount = 0

    init(maximumHeldByteCount: Int) {
        self.maximumHeldByteCount = maximumHeldByteCount
    }

    /// Whether a payload of the stream is incomplete.
    func isAssembling(_ streamID: StreamID) -> Bool {
        partials[streamID] != nil
    }

    /// A payload or a fragment of one has arrived.
    ///
    /// - Returns: The complete payload, without a copy when it came in one piece; `nil` when more fragments follow.
    /// - Throws: ``ProtocolViolation/tooManyHeldBytes(limit:)``, ``ProtocolViolation/metadataAfterData(_:)``.
    mutating func append(
        _ fragment: Payload,
        on streamID: StreamID,
        hasMoreFragments: Bool
    ) throws(ProtocolViolation) -> Payload? {
        if !hasMoreFragments, !isAssembling(streamID) { return fragment }
        guard fragment.byteCount <= maximumHeldByteCount - heldByteCount else {
            throw .tooManyHeldBytes(limit: maximumHeldByteCount)
        }
        // Copied, so that a fragment of few bytes does not keep the memory of its message.
        var partial = partials.removeValue(forKey: streamID) ?? Payload()
        if let metadata = fragment.metadata {
            guard partial.data.readableBytes == 0 else { throw .metadataAfterData(streamID) }
            var whole = partial.metadata ?? ByteBuffer()
            partial.metadata = nil
            whole.writeImmutableBuffer(metadata)
            partial.metadata = whole
        }
        partial.data.writeImmutableBuffer(fragment.data)
        if hasMoreFragments {
            heldByteCount += fragment.byteCount
            partials[streamID] = partial
            return nil
        }
        heldByteCount -= partial.byteCount - fragment.byteCount
        return partial
    }

    /// Forgets the fragments of a stream that has ended.
    mutating func discard(_ streamID: StreamID) {
        heldByteCount -= partials.removeValue(forKey: streamID)?.byteCount ?? 0
    }
}
