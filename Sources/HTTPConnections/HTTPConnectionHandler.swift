import Logging
import NIOCore
import NIOHTTP1

/// Applies the time limits of a connection, refuses malformed requests, and upgrades the connection to WebSocket.
///
/// It is between the parser of requests and the handlers that answer them. All decisions are those of its
/// ``StateMachine``.
final class HTTPConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: HTTPConnectionLimits
    private let logger: Logger
    private let codec: HTTPConnectionCodec
    private let answer: @Sendable (HTTPRefusal) -> HTTPRefusal.Answer
    private let upgrade: ((_ offeredExtensions: String) -> WebSocketUpgrade<Void>.Acceptance)?
    private var state: StateMachine
    private var timer: (wait: StateMachine.Wait, task: Scheduled<Void>)?
    private var isReadPending = false

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - limits: The limits of a connection.
    ///   - codec: The parser and the encoder before this handler.
    ///   - logger: Gets the refused requests, which no route sees.
    ///   - answer: Makes the body of a refusal.
    ///   - upgrade: Accepts a valid WebSocket handshake; `nil` when there are none.
    init(
        limits: HTTPConnectionLimits,
        codec: HTTPConnectionCodec,
        logger: Logger,
        answer: @escaping @Sendable (HTTPRefusal) -> HTTPRefusal.Answer = \.plainText,
        upgrade: ((_ offeredExtensions: String) -> WebSocketUpgrade<Void>.Acceptance)?
    ) {
        self.limits = limits
        self.codec = codec
        self.logger = logger
        self.answer = answer
        self.upgrade = upgrade
        state = StateMachine(unreadLimit: limits.strangerLength, upgrades: upgrade != nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        updateTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        if case .head(var head) = part {
            head.normalizeTarget()
            part = .head(head)
        }
        switch state.received(part) {
        case .forward: context.fireChannelRead(wrapInboundOut(part))
        case .drop: break
        case .dropAndKeepRest: codec.keepRest()
        case .perform(let action): perform(action, context)
        }
        updateTimer(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        state.readCompleted(isWithinRequest: codec.isWithinRequest)
        updateTimer(context)
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if state.holdsReads { isReadPending = true } else { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPParserError:
            let action = state.failed(error)
            if action == .failBody { context.fireErrorCaught(error) } else { perform(action, context) }
            updateTimer(context)
        case is ByteToMessageDecoderError:
            // Bytes behind those that are no request.
            break
        default:
            context.fireErrorCaught(error)
        }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var action = StateMachine.Action.none
        var data = data
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if state.isOfVersion1_0 {
                head.version = .http1_0
                // Of a response that is compressed on the way.
                head.headers.remove(name: "Transfer-Encoding")
            }
            if state.responseBegan(head) { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            data = wrapOutboundOut(.head(head))
        case .body: break
        case .end: action = state.responseEnded()
        }
        if action == .none {
            context.write(data, promise: promise)
        } else {
            context.writeAndFlush(data, promise: promise)
            perform(action, context)
        }
        updateTimer(context)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output, !state.isUpgraded else { return context.close(mode: mode, promise: promise) }
        perform(state.closeRequested(), context)
        promise?.succeed()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is RequestBodyDemand else { return context.triggerUserOutboundEvent(event, promise: promise) }
        guard state.bodyIsWanted() else { promise?.succeed(); return }
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: promise)
    }

    // MARK: The connection

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            perform(state.shutDown(), context)
        case let event as ChannelEvent where event == .inputClosed:
            perform(state.inputClosed(), context)
            context.fireUserInboundEventTriggered(event)
        default:
            context.fireUserInboundEventTriggered(event)
        }
        updateTimer(context)
    }

    private func updateTimer(_ context: ChannelHandlerContext) {
        let wait = state.wait
        guard wait != timer?.wait else { return }
        // A client does not get more time for its first request by sending a part of it.
        if wait == .head, let timer, timer.wait == .firstRequest {
            self.timer = (.head, timer.task)
            return
        }
        timer?.task.cancel()
        timer = nil
        guard let wait else { return }
        let limit = limits[wait]
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = (
            wait,
            context.eventLoop.scheduleTask(in: TimeAmount(limit)) {
                let (handler, context) = bound.value
                handler.timer = nil
                handler.perform(handler.state.timedOut(), context)
                handler.updateTimer(context)
            }
        )
    }
}

// MARK: Actions

extension HTTPConnectionHandler {
    private func perform(_ action: StateMachine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .none, .failBody: break
        case .upgrade(let opening): upgrade(opening, context)
        case .refuse(let refusal): refuse(refusal, context)
        case .closeOutput: closeOutput(context)
        case .close: context.close(promise: nil)
        }
    }

    private func upgrade(_ opening: WebSocketHandshake.Opening, _ context: ChannelHandlerContext) {
        let acceptance = upgrade?(opening.extensions)
        let answer = WebSocketHandshake.answer(to: opening, extensions: acceptance?.extensions)
        context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
        do {
            try acceptance?.setUp(context, codec)
        } catch {
            logger.error("A WebSocket cannot be set up", metadata: ["error": "\(error)"])
            context.close(promise: nil)
        }
        guard isReadPending else { return }
        isReadPending = false
        context.read()
    }

    private func refuse(_ refusal: HTTPRefusal, _ context: ChannelHandlerContext) {
        logger.info(
            "Request refused, the connection is closed",
            metadata: [
                "status": .stringConvertible(refusal.status), "description": "\(refusal.description)",
                "details": "\(refusal.details ?? "")",
            ]
        )
        for part in refusal.response(answer(refusal)) { context.write(wrapOutboundOut(part), promise: nil) }
        context.flush()
        closeOutput(context)
    }

    /// Lets the client have what was written, then throws away what it still sends until it closes its end.
    ///
    /// ``StateMachine/Wait/close`` limits the latter. Closing the output of a channel whose input is closed would not
    /// wait for what was written.
    private func closeOutput(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        codec.flush(context).flatMap {
            bound.value.1.close(mode: .output)
        }
        .whenComplete { result in
            let (handler, context) = bound.value
            switch result {
            case .success: handler.outputClosed(context)
            // Without an output that can be closed by itself, the whole connection is.
            case .failure: context.close(promise: nil)
            }
        }
    }

    private func outputClosed(_ context: ChannelHandlerContext) {
        guard state.outputClosed() else { return }
        updateTimer(context)
        let channel = context.channel
        DepartureHandler.whenClientLeaves(channel) { channel.close(promise: nil) }
    }
}

extension HTTPConnectionLimits {
    /// The time limit of a wait for the client.
    fileprivate subscript(wait: HTTPConnectionHandler.StateMachine.Wait) -> Duration {
        switch wait {
        case .firstRequest, .head, .body, .closeAfterBody: headTime
        case .nextRequest: idleTime
        case .close: closingTime
        }
    }
}
