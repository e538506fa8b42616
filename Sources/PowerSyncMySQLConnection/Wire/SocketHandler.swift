import NIOCore

/// The handler nearest to the socket, below TLS: refuses addresses, tells the inbox of bytes, and closes without TLS's farewell.
///
/// The farewell would wait for the server's, which may be silent, or behind rows that are not read.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// The error of an address that is not allowed.
    struct AddressNotAllowed: Error {}

    private let inbox: PacketInbox
    private let allows: @Sendable (SocketAddress) -> Bool

    init(_ inbox: PacketInbox, allows: @escaping @Sendable (SocketAddress) -> Bool) {
        self.inbox = inbox
        self.allows = allows
    }

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        if allows(address) {
            context.connect(to: address, promise: promise)
        } else {
            promise?.fail(AddressNotAllowed())
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.noteArrival(of: unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
    }
}
