package import NIOCore
import NIOPosix
package import NIOSSL

/// One end of a TCP connection that sends and receives bytes as a test says.
package struct RawConnection: ~Copyable {
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel

    /// How much the network keeps for who does not read, of what it would let grow to as much as the machine allows: 64 KiB.
    private static let receiveBufferBytes: SocketOptionValue = 64 * 1024

    /// Sends a text.
    package func send(_ text: String) async throws {
        try await outbound.write(ByteBuffer(string: text))
    }

    /// Sends bytes.
    package func send(_ bytes: ByteBuffer) async throws {
        try await outbound.write(bytes)
    }

    /// Leaves.
    package func leave(_ departure: AbruptDeparture) async throws {
        try await channel.triggerUserOutboundEvent(RawSocketHandler.Event.leave(departure)).get()
    }

    /// Waits for bytes.
    ///
    /// - Returns: `nil` when the other end has closed the connection.
    package mutating func read() async throws -> ByteBuffer? {
        try await inbound.next(isolation: #isolation)
    }

    /// Reads until a text has arrived, or the connection is closed.
    ///
    /// - Returns: Everything that was read.
    package mutating func text(until end: String) async throws -> String {
        var text = ""
        while !text.contains(end), let bytes = try await read() { text += String(buffer: bytes) }
        return text
    }

    /// Reads until the other end has closed the connection.
    ///
    /// - Returns: Everything that was read.
    package mutating func textUntilClosed() async throws -> String {
        var text = ""
        while let bytes = try await read() { text += String(buffer: bytes) }
        return text
    }

    /// Opens a connection to a service, and closes it after a closure.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - authority: For TLS: who must have signed the certificate for `127.0.0.1`, PEM.
    ///   - version: For TLS: the newest version that the client knows; `nil` for all.
    ///   - body: Uses the connection.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or an error of connecting.
    package static func connect<Result>(
        port: Int,
        trusting authority: String? = nil,
        speakingUpTo version: TLSVersion? = nil,
        _ body: (inout RawConnection) async throws -> Result
    ) async throws -> Result {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.socketOption(.so_rcvbuf), value: receiveBufferBytes)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RawSocketHandler())
                    if let authority { try addTLS(to: channel, authority, version) }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var connection = RawConnection(
                inbound: inbound.makeAsyncIterator(),
                outbound: outbound,
                channel: channel.channel
            )
            return try await body(&connection)
        }
    }

    private static func addTLS(to channel: any Channel, _ authority: String, _ version: TLSVersion?) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        configuration.maximumTLSVersion = version
        let context = try NIOSSLContext(configuration: configuration)
        try channel.pipeline.syncOperations.addHandler(try NIOSSLClientHandler(context: context, serverHostname: nil))
    }
}
