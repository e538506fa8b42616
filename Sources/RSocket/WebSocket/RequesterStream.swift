package import NIOCore

/// Why a stream did not end normally.
package enum RequesterStreamError: Error, Sendable {
    /// The responder ended the stream with an error.
    case failed(ErrorFrame)
    /// The connection was ended, by either side.
    case connection(RSocketError)
    /// The channel failed.
    case channel(any Error)
}

/// The payloads of the one stream of a connection, read by one task.
///
/// Dropping it cancels the stream and closes the connection.
package final class RequesterStream: Sendable {
    /// What arrives.
    package enum Element: Sendable, Equatable {
        /// The data of payloads, in order; none when a part of one has arrived.
        case payloads([ByteBuffer])
        /// The responder has answered one KEEPALIVE or several.
        case keepaliveAnswered
    }

    private let handler: NIOLoopBound<RequesterHandler>
    private let eventLoop: any EventLoop
    private let payloads: PayloadQueue

    /// Creates a stream; only on the event loop.
    package init(_ handler: RequesterHandler, eventLoop: any EventLoop) {
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        self.eventLoop = eventLoop
        payloads = handler.payloads
    }

    deinit {
        eventLoop.execute { [handler] in handler.value.cancel() }
    }

    /// Sends the SETUP and the request.
    ///
    /// Not before the upgrade to WebSocket is complete: until then, the upgrade drops what is sent.
    package func begin() {
        eventLoop.execute { [handler] in handler.value.begin() }
    }

    /// Takes what has arrived, and allows the responder to send as many payloads as were taken; waits when there is
    /// nothing.
    ///
    /// - Returns: All payloads, else the answer to a KEEPALIVE; `nil` when the stream or the connection has ended.
    /// - Throws: ``RequesterStreamError`` after everything else, or `CancellationError`.
    package func next() async throws -> Element? {
        let element = try await payloads.next()
        if case .payloads(let payloads)? = element, !payloads.isEmpty {
            eventLoop.execute { [handler] in handler.value.consumed(payloads.count) }
        }
        return element
    }
}
