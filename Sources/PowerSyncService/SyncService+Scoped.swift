public import Logging
import ServiceLifecycle

/// A service that runs for the duration of a closure.
public struct RunningService: Sendable {
    /// The service.
    public let service: SyncService
    /// Where it listens.
    public let address: BoundAddress
}

extension SyncService {
    /// Runs a service for as long as a closure, then shuts it down and waits until everything is closed.
    ///
    /// ```swift
    /// configuration.port = 0
    /// try await SyncService.withService(configuration: configuration, logger: logger) { running in
    ///     print(running.address.url)  // http://127.0.0.1:53211
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The configuration. Port 0 takes any free port.
    ///   - logger: For everything that the service logs.
    ///   - body: Called when clients can sync.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or the error of ``run()``.
    public static func withService<Result>(
        configuration: ServiceConfiguration,
        logger: Logger,
        _ body: (RunningService) async throws -> Result
    ) async throws -> Result {
        try await SyncService(configuration: configuration, logger: logger).whileRunning(body)
    }

    /// Runs this service for as long as a closure.
    package func whileRunning<Result>(_ body: (RunningService) async throws -> Result) async throws -> Result {
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [self], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do {
                let address = try await waitUntilReady()
                let result = try await body(RunningService(service: self, address: address))
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
                return result
            } catch {
                await group.triggerGracefulShutdown()
                // The first error is the one to report.
                try? await tasks.waitForAll()
                throw error
            }
        }
    }
}
