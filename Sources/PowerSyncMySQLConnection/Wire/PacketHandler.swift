import MySQLNIO
import NIOCore
import NIOSSL
import NIOTLS

/// Joins the packets of the wire to whole ones, gives them to the inbox, and cuts and numbers those that go out.
///
/// A packet of the wire has 0xFFFFFF bytes at most; one of exactly that size is continued by the next one, which may be empty.
final class PacketHandler: ChannelDuplexHandler {
    typealias InboundIn = MySQLPacket
    typealias OutboundIn = Outgoing
    typealias OutboundOut = MySQLPacket

    /// What goes out.
    enum Outgoing: Sendable {
        /// The first packet of a command, whose number is 0.
        case command(ByteBuffer)
        /// A packet whose number follows that of the last one received.
        case answer(ByteBuffer)
        /// A packet, and then TLS, which an empty packet in the inbox tells of: until it is there, nothing else may go out.
        ///
        /// Fails when more than `greeting` bytes have arrived: an attacker's plain text would be taken for the server's.
        case startTLS(ByteBuffer, NIOSSLContext, ServerName, greeting: Int)
    }

    /// The most bytes in a packet of the wire.
    static let wireLimit = 0xFF_FFFF
    /// The most bytes in a packet: the most that servers allow, and what is around it.
    static let packetLimit = (1 << 30) + (1 << 20)

    private let inbox: PacketInbox
    private let sequence: MySQLPacketSequence
    private var partial: ByteBuffer?
    private var serverName = ServerName.address

    init(_ inbox: PacketInbox, _ sequence: MySQLPacketSequence) {
        self.inbox = inbox
        self.sequence = sequence
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var payload = unwrapInboundIn(data).payload
        let isContinued = payload.readableBytes == Self.wireLimit
        if partial != nil {
            partial?.writeBuffer(&payload)
        } else if isContinued {
            partial = payload
        }
        if let partial, partial.readableBytes > Self.packetLimit {
            return fail(
                MySQLConnectionError(.protocolViolation, "The server has sent a packet of more than 1 GiB."),
                context
            )
        }
        guard !isContinued else { return }
        let packet = partial ?? payload
        partial = nil
        if inbox.add(packet) { Self.applyReading(inbox, context.channel) }
    }

    /// Reads from the socket, or not, as the inbox says now.
    static func applyReading(_ inbox: PacketInbox, _ channel: any Channel) {
        channel.setOption(.autoRead, value: inbox.isReading).whenFailure { _ in }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .command(let packet):
            sequence.reset()
            write(packet, context, promise)
        case .answer(let packet):
            write(packet, context, promise)
        case .startTLS(let packet, let tls, let name, let greeting):
            serverName = name
            guard inbox.arrivedBytes == greeting else {
                return fail(
                    MySQLConnectionError(.protocolViolation, "The server has sent more than its greeting before TLS."),
                    context
                )
            }
            write(packet, context, promise)
            context.flush()
            do {
                let handler = try NIOSSLClientHandler(context: tls, serverHostname: name.text)
                let pipeline = context.pipeline.syncOperations
                try pipeline.addHandler(handler, position: .after(pipeline.handler(type: SocketHandler.self)))
            } catch {
                fail(
                    MySQLConnectionError(.configuration, "TLS cannot be started for this name of the server."),
                    context
                )
            }
        }
    }

    private func write(_ packet: ByteBuffer, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        var rest = packet
        while let part = rest.readSlice(length: Self.wireLimit) {
            context.write(wrapOutboundOut(MySQLPacket(payload: part)), promise: nil)
        }
        context.write(wrapOutboundOut(MySQLPacket(payload: rest)), promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            if let error = serverName.problem(with: handler?.peerCertificate) {
                fail(error, context)
            } else {
                _ = inbox.add(ByteBuffer())
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end(MySQLConnectionError(.lost, "The server has closed the connection."))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        fail(MySQLConnectionError(socket: error, certificate: handler?.peerCertificate), context)
    }

    private func fail(_ error: MySQLConnectionError, _ context: ChannelHandlerContext) {
        inbox.end(error)
        context.close(promise: nil)
    }
}
