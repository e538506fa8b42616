import Foundation
import NIOConcurrencyHelpers
import PowerSyncBackend
import PowerSyncService
import PowerSyncTerminal

/// A PostgreSQL database with the source and the storage, one node that replicates, and two that serve clients behind a balancer.
struct PostgresDeployment: DemoDeployment {
    /// Of every node, without role and port.
    let configuration: ServiceConfiguration
    /// The tables.
    let source: PostgresDemoSource
    /// Signs and checks tokens of users.
    let signer: SyncTokenSigner
    /// The database, without secrets.
    let database: String
    let terminal: Terminal
    /// Where uploads go, as clients remember it while the service is down.
    private let uploadURL = NIOLockedValueBox<URL?>(nil)

    init(
        configuration: ServiceConfiguration,
        source: PostgresDemoSource,
        signer: SyncTokenSigner,
        database: String,
        terminal: Terminal
    ) {
        self.configuration = configuration
        self.source = source
        self.signer = signer
        self.database = database
        self.terminal = terminal
    }

    var summary: String { "\(database),\none node that replicates, two that serve clients" }

    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @escaping @Sendable (DemoBackend, any DemoSource) async throws -> Result
    ) async throws -> Result {
        try await withNode(.sync) { _ in
            try await withNode(.api) { first in
                try await withNode(.api) { second in
                    let balancer = Balancer(to: [first.port, second.port])
                    let result = try await balancer.whileRunning(on: port) { port in
                        try await withUploads { uploadURL in
                            try await body(DemoBackend(port: port, uploadURL: uploadURL, signer: signer), source)
                        }
                    }
                    let counts = balancer.connectionCounts
                    try expect(counts.allSatisfy { $0 > 0 }, "a node has served nobody: \(counts) connections")
                    try terminal.line(
                        "  the balancer passed on \(counts[0]) + \(counts[1]) connections to the two nodes"
                    )
                    return result
                }
            }
        }
    }

    private func withUploads<Result: Sendable>(
        _ body: @escaping @Sendable (_ uploadURL: String) async throws -> Result
    ) async throws -> Result {
        let port = uploadURL.withLockedValue { $0?.port ?? 0 }
        return try await UploadBackend(source: source, signer: signer).whileRunning(on: port) { url in
            uploadURL.withLockedValue { $0 = URL(string: url) }
            return try await body("\(url)/upload")
        }
    }

    private func withNode<Result: Sendable>(
        _ role: ServiceConfiguration.Role,
        _ body: (BoundAddress) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration
        configuration.role = role
        return try await SyncService.withService(configuration: configuration, logger: .demo) { node in
            try await body(node.address)
        }
    }
}
