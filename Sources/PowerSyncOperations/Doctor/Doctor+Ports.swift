import PowerSyncService
import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncServiceCore

extension Doctor {
    /// Looks whether the ports are free.
    ///
    /// - Parameters:
    ///   - configuration: Names them.
    ///   - findings: Gets what is wrong.
    /// - Returns: Whether the service seems to run: its port is in use, and so is its storage, or a service answers there.
    /// - Throws: `CancellationError`.
    func checkPorts(_ configuration: ServiceConfiguration, _ findings: inout [Finding]) async throws -> Bool {
        // A number that is none has been reported.
        guard (0...65535).contains(configuration.port) else { return false }
        var isRunning = false
        do {
            try PortProbe.take(configuration.host, configuration.port)
            findings.ok(.ports, "port \(configuration.port) is free")
        } catch {
            switch type(of: configuration.storage.module).sharing {
            case .oneProcess:
                isRunning = await Self.isStorageInUse(configuration)
                if isRunning {
                    findings.ok(.ports, "port \(configuration.port) and the storage are in use: the service is running")
                }
            case .anyNumber:
                // Any number of services may use it, so that its being in use would tell nothing.
                isRunning = await Self.isAnswering(configuration)
                if isRunning { findings.ok(.ports, "a service answers on port \(configuration.port): it is running") }
            }
            if !isRunning { findings.fail(.ports, configuration.startError(error)) }
        }
        guard let port = configuration.metricsPort, !isRunning else { return isRunning }
        do {
            let host = configuration.metricsHost
            try PortProbe.take(host, port)
            findings.ok(.ports, "port \(port) for metrics is free on \(host), the address that it listens on")
        } catch {
            findings.fail(.ports, MetricsEndpoint.portError(port, error))
        }
        return isRunning
    }

    private static func isStorageInUse(_ configuration: ServiceConfiguration) async -> Bool {
        do {
            try await configuration.storage.module.maintenance.checkOpening(migrates: true)
            return false
        } catch {
            return (error as? BucketStorageError)?.code == .inUse
        }
    }

    /// Whether a service of this kind is on the port.
    private static func isAnswering(_ configuration: ServiceConfiguration) async -> Bool {
        guard var service = try? PublicService(address: configuration.localURL, token: nil) else { return false }
        // The certificate is for the name that clients use.
        service.checksCertificate = false
        service.patience = .seconds(5)
        let reply = try? await service.withClient { try await service.send(.GET, "/probes/liveness", $0) }
        guard let reply else { return false }
        if reply.status == 404, reply.code == .routeNotFound { return true }
        return (try? JSONObject(parsing: reply.body))?["touched_at"] != nil
    }
}
