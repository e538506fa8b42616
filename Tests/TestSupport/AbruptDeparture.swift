import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How one end of a TCP connection leaves without saying so in its protocol.
package enum AbruptDeparture: CaseIterable, Sendable {
    /// The socket is closed.
    case close
    /// The sending half is closed; the rest stays open until the other end closes it.
    case closeSendingHalf
    /// The connection is reset.
    case reset

    /// Leaves.
    ///
    /// - Parameters:
    ///   - context: Of a handler before all others, so that no protocol takes part.
    ///   - promise: Succeeded when it has left.
    func leave(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        switch self {
        case .close:
            context.close(promise: promise)
        case .closeSendingHalf:
            context.close(mode: .output, promise: promise)
        case .reset:
            // With unsent bytes thrown away at once, closing becomes a reset.
            (context.channel as? any SocketOptionProvider)?
                .setSoLinger(linger(l_onoff: 1, l_linger: 0))
                .whenComplete { [loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)] _ in
                    loopBound.value.close(promise: promise)
                }
        }
    }
}

/// The first handler of a connection that a test may leave abruptly, or send bytes through below all protocols.
final class RawSocketHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    enum Event: Sendable {
        case send(ByteBuffer)
        case leave(AbruptDeparture)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event as? Event {
        case .send(let bytes): context.writeAndFlush(NIOAny(bytes), promise: promise)
        case .leave(let departure): departure.leave(context, promise: promise)
        case nil: context.triggerUserOutboundEvent(event, promise: promise)
        }
    }
}
