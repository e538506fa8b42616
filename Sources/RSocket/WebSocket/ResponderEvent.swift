/// What a ``ResponderHandler`` tells the service that answers.
package enum ResponderEvent: Sendable {
    /// The first event: check MIME types and token, then call ``ResponderHandle/acceptSetup()`` or
    /// ``ResponderHandle/rejectSetup(code:message:)``.
    case setup(SetupFrame)
    /// Answer with ``ResponderHandle/send(_:on:)``, and ``ResponderHandle/complete(_:)`` or
    /// ``ResponderHandle/fail(_:message:)`` in the end.
    case request(StreamRequest)
    /// The requester wants no more of the stream, which has ended.
    case cancelled(StreamID)
    /// The process shuts down: all streams have ended, and the connection is closing.
    case shutdown
}
