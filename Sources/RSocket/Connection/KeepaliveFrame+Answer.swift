import NIOCore

extension KeepaliveFrame {
    /// The answer to this frame.
    ///
    /// - Throws: ``ProtocolViolation/keepaliveTooLong(limit:)``, so that a peer cannot make us send a lot.
    func checkedAnswer() throws(ProtocolViolation) -> KeepaliveFrame {
        let limit = ConnectionLimits.maximumKeepaliveDataLength
        guard data.readableBytes <= limit else { throw .keepaliveTooLong(limit: limit) }
        return KeepaliveFrame(expectsAnswer: false, data: data)
    }
}
