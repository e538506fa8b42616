import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PowerSyncHTTP

/// Asks for a WebSocket, and hears what comes back: 101, or what a proxy makes of it.
enum UpgradeProbe {
    /// The most that is read of an answer: 16 KiB.
    private static let maximumBytes = 16 * 1024

    /// Asks on the path of sync streams.
    ///
    /// - Returns: The first line of the answer, empty when the connection is closed without one, and where it refers to instead.
    /// - Throws: An error of the connection.
    static func answer(of service: PublicService) async throws -> (line: String, HTTPRedirect?) {
        guard let url = URL(string: service.url), let host = url.host(percentEncoded: false) else { return ("", nil) }
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
            let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
            guard let line = lines.first else { return ("", nil) }
            return (String(line), redirect(line, lines.dropFirst(), of: service))
        }
    }

    private static func redirect(
        _ statusLine: Substring,
        _ fields: some Sequence<Substring>,
        of service: PublicService
    ) -> HTTPRedirect? {
        guard let status = statusLine.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        var headers: HTTPHeaders = [:]
        for field in fields {
            guard let colon = field.firstIndex(of: ":") else { continue }
            headers.add(
                name: String(field[..<colon]),
                value: field[field.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            )
        }
        return HTTPRedirect(status: status, headers: headers, of: service.url + "/sync/stream")
    }

    private static func request(_ url: URL, _ host: String) -> String {
        // 16 random bytes, as the protocol wants them; the answer to them is not checked.
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
