import Crypto
import Foundation
import PowerSync
import PowerSyncBackend
import PowerSyncS3
import PowerSyncSQLite
import PowerSyncTerminal

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

    private let deployment: any DemoDeployment
    private let folder: URL
    private let format: DemoCommand.Format
    private let transport: DemoCommand.Transport
    /// Signs and checks tokens of users.
    private let signer: SyncTokenSigner
    /// Where photos are stored; `nil` for a folder.
    private let s3: S3Signer?

    /// Creates the demo; nothing runs yet.
    init(
        terminal: Terminal,
        deployment: any DemoDeployment,
        folder: URL,
        rows: Int,
        idleTime: Duration,
        format: DemoCommand.Format,
        transport: DemoCommand.Transport,
        signer: SyncTokenSigner,
        s3: S3Signer?
    ) {
        self.terminal = terminal
        self.deployment = deployment
        self.folder = folder
        self.rows = rows
        self.idleTime = idleTime
        self.format = format
        self.transport = transport
        self.signer = signer
        self.s3 = s3
        let logger = DefaultLogger(minSeverity: .fault)
        func client(_ name: String, _ number: Int, _ user: String) -> DemoClient {
            DemoClient(
                name: name,
                number: number,
                user: user,
                folder: folder,
                transport: transport,
                logger: logger
            )
        }
        anna = client("A", 0, "anna")
        bert = client("B", 1, "anna")
        stranger = client("C", 2, "stranger")
    }

    /// Runs all steps.
    ///
    /// - Throws: ``DemoFailure`` when something did not happen.
    func run() async throws {
        let start = ContinuousClock.now
        try terminal.line(
            "PowerSync for Swift: \(deployment.summary), three clients, \(format.rawValue) over \(transport.name)"
        )
        try await writeOffline()
        let port = try await deployment.whileRunning(on: 0) { backend, source in
            try await upload(to: backend, source: source)
            try await receive(from: backend)
            try await loadInBulk(into: source, backend: backend)
            try await photoBackend(source).whileRunning { url in
                try await sharePhoto(through: url, backend: backend)
            }
            if idleTime > .zero { try await stayIdle(for: idleTime) }
            return backend.port
        }
        try await editWhileServiceIsDown()
        try await deployment.whileRunning(on: port) { _, source in
            try await converge(with: source)
        }
        for client in [anna, bert, stranger] {
            try await client.database.close()
        }
        try terminal.line()
        try terminal.line("All six steps happened, in \((ContinuousClock.now - start).readable).")
    }

    /// The backend that signs URLs for photos, on a folder unless there is a bucket.
    private func photoBackend(_ source: any DemoSource) throws -> PhotoBackend {
        let storage: PhotoStorage
        if let s3 {
            storage = .s3(s3)
        } else {
            let objects = folder.appending(path: "photo-storage")
            try PrivateFiles.createFolder(at: objects.path)
            storage = .folder(objects, key: SymmetricKey(size: .bits256))
        }
        return PhotoBackend(storage: storage, signer: signer, source: source)
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
    /// Seconds as a number.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
