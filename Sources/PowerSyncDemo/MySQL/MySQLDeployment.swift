import Foundation
import NIOConcurrencyHelpers
import PowerSyncBackend
import PowerSyncService

/// A MySQL or MariaDB server with the source, and one service with its buckets in a file.
struct MySQLDeployment: DemoDeployment {
    /// Without a port.
    let configuration: ServiceConfiguration
    /// The tables.
    let source: MySQLDemoSource
    /// Signs and checks tokens of users.
    let signer: SyncTokenSigner
    /// The database, without secrets.
    let database: String
    /// Where uploads go, as clients remember it while the service is down.
    private let uploadPort = NIOLockedValueBox(0)

    init(configuration: ServiceConfiguration, source: MySQLDemoSource, signer: SyncTokenSigner, database: String) {
        self.configuration = configuration
        self.source = source
        self.signer = signer
        self.database = database
    }

    var summary: String { "\(database),\none service" }

    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @escaping @Sendable (DemoBackend, any DemoSource) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration
        configuration.port = port
        return try await SyncService.withService(configuration: configuration, logger: .demo) { running in
            let uploads = UploadBackend(source: source, signer: signer)
            let servicePort = running.address.port
            return try await uploads.whileRunning(on: uploadPort.withLockedValue(\.self)) { url in
                uploadPort.withLockedValue { $0 = URL(string: url)?.port ?? 0 }
                return try await body(
                    DemoBackend(port: servicePort, uploadURL: "\(url)/upload", signer: signer),
                    source
                )
            }
        }
    }
}
