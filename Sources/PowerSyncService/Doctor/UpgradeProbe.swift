import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Asks for a WebSocket, and hears what comes back: 101, or what a proxy makes of it.
enum UpgradeProbe {
    /// The most that is read of an answer: 16 KiB.
    private static let maximumBytes = 16 * 1024

    /// Asks on the path of sync streams.
    ///
    /// - Returns: The first line of the answer; empty when the connection is closed without one.
    /// - Throws: An error of the connection.
    static func statusLine(of service: PublicService) async throws -> String {
        guard let url = URL(string: service.url), let host = url.host(percentEncoded: false) else { return "" }
        let isSecure = url.scheme?.lowercased() == "https"
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let tls = isSecure ? try NIOSSLContext(configuration: service.tlsConfiguration) : nil
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(PublicService.timeout)
            .connect(host: name, port: url.port ?? (isSecure ? 443 : 80)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        // SNI is not for addresses.
                        let isAddress = (try? SocketAddress(ipAddress: name, port: 0)) != nil
                        try channel.pipeline.syncOperations.addHandler(
                            try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : name)
                        )
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let deadline = channel.channel.eventLoop.scheduleTask(in: PublicService.timeout) {
            channel.channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request(url, host)))
            var text = ""
            for try await bytes in inbound {
                text += String(buffer: bytes)
                if text.contains("\r\n\r\n") || text.utf8.count > maximumBytes { break }
            }
            return text.split(separator: "\r\n", maxSplits: 1).first.map(String.init) ?? ""
        }
    }

    private static func request(_ url: URL, _ host: String) -> String {
        // 16 random bytes, as the protocol wants them; nobody looks at the answer to them.
        let key = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        return """
            GET \(url.path(percentEncoded: true))/sync/stream HTTP/1.1\r
            Host: \(host)\(url.port.map { ":\($0)" } ?? "")\r
            Connection: Upgrade\r
            Upgrade: websocket\r
            Sec-WebSocket-Version: 13\r
            Sec-WebSocket-Key: \(key)\r
            \r

            """
    }
}
