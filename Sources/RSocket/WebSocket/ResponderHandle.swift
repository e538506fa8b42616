package import NIOCore

/// How tasks answer through a ``ResponderHandler``.
package struct ResponderHandle: Sendable {
    private let handler: NIOLoopBound<ResponderHandler>
    private let eventLoop: any EventLoop

    /// Creates a handle; only on the event loop.
    package init(_ handler: ResponderHandler, eventLoop: any EventLoop) {
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        self.eventLoop = eventLoop
    }

    /// The requester is who it says; its requests follow as events.
    package func acceptSetup() {
        eventLoop.execute { handler.value.acceptSetup() }
    }

    /// The requester is not welcome: it is told why, and the connection closes.
    package func rejectSetup(code: RSocketErrorCode, message: String) {
        eventLoop.execute { handler.value.rejectSetup(code: code, message: message) }
    }

    /// Waits for credit, sends payloads, and waits until the socket has taken them.
    ///
    /// Those that there is credit for are written together.
    ///
    /// One call at a time for each stream.
    ///
    /// - Throws: ``StreamEndedError`` when the requester wants it no more, `CancellationError` while it waits for credit, or an
    ///   error of the channel.
    package func send(_ payloads: [Payload], on streamID: StreamID) async throws {
        try Task.checkCancellation()
        let promise = eventLoop.makePromise(of: Void.self)
        eventLoop.execute { handler.value.send(payloads[...], on: streamID, promise: promise) }
        try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            eventLoop.execute { handler.value.withdraw(streamID) }
        }
    }

    /// Ends a stream normally.
    package func complete(_ streamID: StreamID) {
        eventLoop.execute { _ = handler.value.complete(streamID) }
    }

    /// Ends a stream with an error of the application.
    package func fail(_ streamID: StreamID, message: String) {
        eventLoop.execute { handler.value.fail(streamID, message: message) }
    }
}
