import Foundation
import Logging
import PowerSyncBackend
import PowerSyncService
import PowerSyncTerminal

/// One service with an embedded source and a storage in files, which takes the uploads, too.
struct EmbeddedDeployment: DemoDeployment {
    /// Without a port.
    let configuration: ServiceConfiguration
    /// Where the source is.
    let sourcePath: String
    /// Signs tokens of users.
    let signer: SyncTokenSigner

    let summary = "one service"

    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @escaping @Sendable (DemoBackend, any DemoSource) async throws -> Result
    ) async throws -> Result {
        var configuration = configuration
        configuration.port = port
        configuration.development.writeEndpoint = true
        return try await SyncService.withService(configuration: configuration, logger: .demo) { running in
            try await body(
                DemoBackend(
                    port: running.address.port,
                    uploadURL: "\(running.address.url)/dev/write",
                    signer: signer
                ),
                try EmbeddedDemoSource(path: sourcePath)
            )
        }
    }
}

extension DemoCommand {
    /// A service over a SQLite file, with its buckets in another one.
    ///
    /// - Parameters:
    ///   - folder: For the files.
    ///   - key: What tokens are signed with.
    /// - Returns: The deployment.
    /// - Throws: An error of making the key.
    func embedded(in folder: URL, _ key: DemoKey) throws -> EmbeddedDeployment {
        let source = folder.appending(path: "source.db").path
        return EmbeddedDeployment(
            configuration: configuration(
                source: .embedded(path: source, statements: DemoApp.sourceTables),
                storage: .sqlite(path: folder.appending(path: "buckets.db").path),
                syncConfig: DemoApp.syncConfig(),
                key: key
            ),
            sourcePath: source,
            signer: try key.signer()
        )
    }
}

extension Logger {
    /// For services of the demo: errors only.
    static var demo: Logger {
        var logger = Logger(label: "powersync.demo") { TextLogHandler(label: $0) }
        logger.logLevel = .error
        return logger
    }
}
