import NIOCore
import NIOHTTP1

/// Tells the client of one connection too many that it should come back later, whatever it wants, and closes the
/// connection.
final class RefusedConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: HTTPRefusal.Answer?
    private let closingTime: TimeAmount
    private var deadline: Scheduled<Void>?

    private init(answer: HTTPRefusal.Answer?, closingTime: TimeAmount) {
        self.answer = answer
        self.closingTime = closingTime
    }

    /// Sets up a connection that has a ``DepartureHandler``.
    ///
    /// - Parameters:
    ///   - channel: The connection.
    ///   - answer: The answer with status 503; `nil` to close the connection without one.
    ///   - closingTime: How long the client may take to read the answer.
    /// - Throws: An error of the channel.
    static func add(to channel: any Channel, answer: HTTPRefusal.Answer?, closingTime: TimeAmount) throws {
        try channel.pipeline.syncOperations.addHandlers([
            HTTPResponseEncoder(), RefusedConnectionHandler(answer: answer, closingTime: closingTime),
        ])
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        guard let answer else { return channel.close(promise: nil) }
        deadline = context.eventLoop.scheduleTask(in: closingTime) { channel.close(promise: nil) }
        // A handler of TLS before this one begins its handshake now; what is closed earlier, it would close without
        // one.
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute { bound.value.0.send(answer, bound.value.1) }
    }

    private func send(_ answer: HTTPRefusal.Answer, _ context: ChannelHandlerContext) {
        let channel = context.channel
        guard channel.isActive else { return }
        for part in HTTPRefusal.tooManyConnections.response(answer) {
            context.write(wrapOutboundOut(part), promise: nil)
        }
        context.flush()
        context.close(mode: .output, promise: nil)
        DepartureHandler.whenClientLeaves(channel) { channel.close(promise: nil) }
    }

    /// The request is thrown away.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }
}
