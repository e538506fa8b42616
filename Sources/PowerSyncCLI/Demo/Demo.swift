import Crypto
import Foundation
import Logging
import PowerSync
import PowerSyncBackend
import PowerSyncS3
import PowerSyncService

/// The six steps of the demo.
struct Demo {
    let terminal: Terminal
    let rows: Int
    /// For how long the clients are idle.
    private let idleTime: Duration
    /// Two installations of one user, and one of somebody else.
    let anna: DemoClient
    let bert: DemoClient
    let stranger: DemoClient

    private let folder: URL
    private let format: DemoCommand.Format
    private let transport: DemoCommand.Transport
    /// Where photos are stored; `nil` for a folder.
    private let s3: S3Signer?
    private static let audience = "powersync-demo"
    /// What tokens are signed with.
    private let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    private var sourcePath: String { folder.appending(path: "source.db").path }

    /// Creates the demo; nothing runs yet.
    init(
        terminal: Terminal,
        folder: URL,
        rows: Int,
        idleTime: Duration,
        format: DemoCommand.Format,
        transport: DemoCommand.Transport,
        s3: S3Signer?
    ) {
        self.terminal = terminal
        self.folder = folder
        self.rows = rows
        self.idleTime = idleTime
        self.format = format
        self.transport = transport
        self.s3 = s3
        let logger = DefaultLogger(minSeverity: .fault)
        func client(_ name: String, _ user: String) -> DemoClient {
            DemoClient(name: name, user: user, folder: folder, transport: transport, logger: logger)
        }
        anna = client("A", "anna")
        bert = client("B", "anna")
        stranger = client("C", "stranger")
    }

    /// Runs all steps.
    ///
    /// - Throws: ``DemoFailure`` when something did not happen.
    func run() async throws {
        let start = ContinuousClock.now
        var configuration = configuration()
        terminal.line("PowerSync for Swift: one service, three clients, \(format.rawValue) over \(transport.name)")
        try await writeOffline()
        let port = try await withService(configuration) { backend, source in
            try await upload(to: backend, source: source)
            try await receive(from: backend)
            try await loadInBulk(into: source, backend: backend)
            try await photoBackend(source).whileRunning { url in
                try await sharePhoto(through: url, backend: backend)
            }
            if idleTime > .zero { try await stayIdle(for: idleTime) }
            return backend.port
        }
        configuration.port = port
        try await editWhileServiceIsDown()
        _ = try await withService(configuration) { _, source in
            try await converge(with: source)
        }
        for client in [anna, bert, stranger] {
            try await client.database.close()
        }
        terminal.line()
        terminal.line("All six steps happened, in \((ContinuousClock.now - start).readable).")
    }

    private func configuration() -> ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(path: sourcePath, statements: DemoApp.sourceTables),
            storage: .sqlite(path: folder.appending(path: "buckets.db").path),
            syncConfig: .content(DemoApp.syncConfig)
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.development.writeEndpoint = true
        configuration.formats = format == .ndjson ? .ndjsonOnly : .all
        configuration.authentication.keys = [.hs256(secret: secret, id: "demo")]
        configuration.authentication.audience = [Self.audience]
        return configuration
    }

    /// The backend that signs URLs for photos, on a folder unless there is a bucket.
    private func photoBackend(_ source: DemoSource) throws -> PhotoBackend {
        let storage: PhotoStorage
        if let s3 {
            storage = .s3(s3)
        } else {
            let objects = folder.appending(path: "photo-storage")
            try FileManager.default.createDirectory(at: objects, withIntermediateDirectories: true)
            storage = .folder(objects, key: SymmetricKey(size: .bits256))
        }
        return PhotoBackend(storage: storage, signer: try signer(), source: source)
    }

    /// Signs tokens of users, as the app's own backend does.
    private func signer() throws -> SyncTokenSigner {
        SyncTokenSigner(key: try .hs256(secret: secret, id: "demo"), audience: Self.audience)
    }

    /// Runs the service for the time of a step.
    private func withService<Result: Sendable>(
        _ configuration: ServiceConfiguration,
        _ body: (DemoBackend, DemoSource) async throws -> Result
    ) async throws -> Result {
        var logger = Logger(label: "powersync.demo") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return try await SyncService.withService(configuration: configuration, logger: logger) { running in
            try await body(
                DemoBackend(url: running.address.url, port: running.address.port, signer: try signer()),
                try DemoSource(path: sourcePath)
            )
        }
    }
}

extension DemoCommand.Transport {
    /// What it is called in the output.
    fileprivate var name: String {
        switch self {
        case .http: "HTTP"
        case .websocket: "WebSocket"
        }
    }
}

extension Duration {
    /// The time for people: `340 ms`, `2.7 s`.
    var readable: String {
        let milliseconds = components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 1_000 else { return "\(milliseconds) ms" }
        let tenths = (milliseconds + 50) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// Seconds as a number.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
