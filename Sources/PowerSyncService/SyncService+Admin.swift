import Foundation
import Logging
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore

extension SyncService {
    /// The routes for operators.
    func makeAdminRoutes(
        storage: any BucketStorage,
        source: any ReplicationSource,
        deployer: SyncConfigDeployer,
        failure: @escaping @Sendable () -> AdminRoutes.Failure?,
        certificate: ServerCertificate?,
        queue: ConcurrencyQueue,
        snapshots: SnapshotSource
    ) -> AdminRoutes {
        AdminRoutes(
            tokens: AdminTokens(configuration.admin.tokens),
            storage: storage,
            source: source,
            connection: AdminRoutes.Connection(
                id: configuration.source.id,
                tag: configuration.source.tag,
                uri: configuration.sourceDescription,
                defaultSchema: configuration.defaultSchema,
                patternRefusal: configuration.patternRefusal
            ),
            deployer: deployer,
            isConfigured: syncConfigText != nil,
            failure: failure,
            looks: snapshots,
            usage: { [timing] in
                let encoded = try JSONEncoder.forAnswers.encode(try await snapshots.snapshot())
                var usage = try JSONObject(parsing: String(decoding: encoded, as: UTF8.self))
                if let validity = certificate?.current.validity {
                    usage["tls"] = .object(AdminRoutes.status(of: validity, at: timing.now()))
                }
                return usage
            },
            clock: timing.clock,
            now: timing.now,
            queue: queue
        )
    }
}

extension SyncService {
    /// The address of the dashboard, for people at this machine.
    ///
    /// With ``DevelopmentEndpoints/dashboard``, it gives access to the dashboard of this process: do not log it.
    ///
    /// - Parameter address: Where the service listens.
    /// - Returns: `http://127.0.0.1:8080/dashboard#key=…`, without a key when one of ``AdminOptions/tokens`` is needed; `nil`
    ///   when there is no dashboard.
    public func dashboardURL(at address: BoundAddress) -> String? {
        guard configuration.role.servesClients else { return nil }
        if let dashboardKey { return "\(address.url)/dashboard#key=\(dashboardKey)" }
        return configuration.admin.tokens.isEmpty ? nil : "\(address.url)/dashboard"
    }

    /// A key that cannot be guessed: 32 random bytes, in hexadecimal digits.
    static func makeDashboardKey() -> String {
        (0..<32).map { _ in
            let digits = String(UInt8.random(in: .min ... .max), radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }
        .joined()
    }

    /// The dashboard; `nil` when it is switched off.
    func makeDashboard(
        admin: AdminRoutes,
        snapshots: SnapshotSource,
        feed: SnapshotFeed,
        userTokens: TokenVerifier
    ) -> DashboardRoutes? {
        let tokens = configuration.admin.tokens + [dashboardKey].compactMap { $0 }
        guard !tokens.isEmpty else { return nil }
        return DashboardRoutes(
            tokens: AdminTokens(tokens),
            admin: admin,
            snapshots: snapshots,
            feed: feed,
            facts: ServiceFacts(configuration, startedAt: timing.seconds),
            userTokens: userTokens
        )
    }
}

extension ServiceConfiguration {
    /// The source, without secrets.
    package var sourceDescription: String { source.module.description }

    /// The endpoint of a service with this configuration, for programs on the same machine.
    package var localURL: String { BoundAddress(host: host, port: port, isEncrypted: tls != nil).url }

    /// The bytes that the files of the storage take; `nil` for one that has none.
    package var storageSize: Int64? {
        let files = storage.module.files
        guard !files.isEmpty else { return nil }
        return files.flatMap(\.allPaths).reduce(0) { size, path in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return size + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
        }
    }
}
