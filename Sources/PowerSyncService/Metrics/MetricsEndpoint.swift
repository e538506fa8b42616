import HTTPConnections
import Hummingbird
package import Logging
package import NIOCore
import PowerSyncServiceCore
package import Prometheus
import ServiceLifecycle

/// `GET /metrics` on a port of its own, in Prometheus' text format (docs/service.md "Metrics and logs").
///
/// It shows what the process records through swift-metrics: the program gives `MetricsSystem` a
/// `PrometheusMetricsFactory` with the same registry.
package struct MetricsEndpoint: Service {
    /// What its connections may take: as those of clients, but few of them, as they are taken from the same open files.
    static let limits: HTTPConnectionLimits = {
        var limits = HTTPConnectionLimits()
        limits.connectionCount = 16
        return limits
    }()

    private let port: Int
    private let host: String
    private let registry: PrometheusCollectorRegistry
    private let limits: HTTPConnectionLimits
    private let logger: Logger
    private let didListen: @Sendable (Int) async -> Void

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port.
    ///   - registry: What is shown.
    ///   - logger: For what the server logs.
    ///   - didListen: Called with the port when the listener is open.
    package init(
        host: String,
        port: Int,
        registry: PrometheusCollectorRegistry,
        logger: Logger,
        didListen: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.init(host: host, port: port, registry: registry, limits: Self.limits, logger: logger, didListen: didListen)
    }

    /// Does the same with other limits of its connections.
    init(
        host: String,
        port: Int,
        registry: PrometheusCollectorRegistry,
        limits: HTTPConnectionLimits,
        logger: Logger,
        didListen: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.registry = registry
        self.limits = limits
        self.logger = logger
        self.didListen = didListen
    }

    package func run() async throws {
        let router = Router()
        router.get("metrics") { _, _ in
            var bytes: [UInt8] = []
            registry.emit(into: &bytes)
            return Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
            )
        }
        let application = Application(
            router: router,
            server: .http1(limits: limits),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? port
                logger.notice("Metrics are on port", metadata: [LogKey.port: .stringConvertible(port)])
                await didListen(port)
            },
            logger: logger.ofServer
        )
        do {
            try await application.run()
        } catch let error as IOError {
            throw Self.portError(port, error)
        }
    }

    /// The error for a port that cannot be listened on.
    package static func portError(_ port: Int, _ error: IOError) -> ServiceError {
        ServiceError(
            .portInUse,
            "port \(port) is not free; metrics need one of their own",
            key: "telemetry.prometheus_port",
            underlyingError: error
        )
    }
}
