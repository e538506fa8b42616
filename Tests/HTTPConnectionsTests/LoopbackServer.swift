import HTTPConnections
import Hummingbird
import HummingbirdCore
import InMemoryLogging
import Logging
import NIOCore

/// A server on a loopback port whose connections are those of this module; it answers `GET /probes/liveness` with `{}`.
enum LoopbackServer {
    /// Runs a server for as long as a closure.
    ///
    /// - Parameters:
    ///   - limits: What its connections may take.
    ///   - body: Gets the port, and what the server has logged.
    /// - Throws: What `body` throws.
    static func run(
        limits: HTTPConnectionLimits = HTTPConnectionLimits(),
        _ body: (_ port: Int, _ log: InMemoryLogHandler) async throws -> Void
    ) async throws {
        let log = InMemoryLogHandler()
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let router = Router()
        router.get("probes/liveness") { _, _ in "{}" }
        let application = Application(
            router: router,
            server: HTTPServerBuilder { UpgradableHTTPChannel<Never>(responder: $0, limits: limits, upgrade: nil) },
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
            logger: Logger(label: "test") { _ in log }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                defer { port.finish() }
                try await application.run()
            }
            for await port in ports {
                try await body(port, log)
                return
            }
            try await group.next()
        }
    }
}
