package import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncTerminal
import PowerSyncS3
import PowerSyncSQLite
import PowerSyncService
import PowerSyncServiceCore

/// `powersync demo`: the whole loop in one process, over real connections.
package struct DemoCommand: AsyncParsableCommand {
    /// How sync lines are encoded.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        /// The client asks for BSON and gets it.
        case bson
        /// The service answers NDJSON whatever the client prefers.
        case ndjson
    }

    /// How sync lines travel.
    enum Transport: String, ExpressibleByArgument, CaseIterable {
        /// A streamed response.
        case http
        /// RSocket frames; lines are always BSON.
        case websocket
    }

    package static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show offline writes, uploads, live sync, priorities and recovery; fail if any of it goes wrong.",
        discussion: """
            Starts a service with an embedded source on a loopback port and three clients with files in a temporary \
            folder. Ends by itself. Exits with 1 when something that it shows did not happen.

            With --source, the rows are in a database of yours. The demo takes away again what it makes there, also after \
            Ctrl-C, and touches nothing else. What a killed run has left goes with the next one.

            \(Modules.all.demoNeeds)
            """
    )

    @Option(
        name: [.customLong("source"), .customLong("postgres")],
        help: """
            Run on this database: \(Modules.all.serverForms). A password in \(Modules.all.passwordPlaces) is not seen by \
            other users of this machine; TLS is verified unless ?sslmode=… says otherwise.
            """
    )
    var source: String?

    @Option(help: "How many todos the bulk load has.")
    var rows: Int = 50_000

    @Option(help: "How sync lines are encoded: \(Format.allCases.map(\.rawValue).joined(separator: " or ")).")
    var format: Format = .bson

    @Option(help: "How sync lines travel: \(Transport.allCases.map(\.rawValue).joined(separator: " or ")).")
    var transport: Transport = .http

    @Option(help: "An S3-compatible storage for the photos, which takes any keys; without it they are in a folder.")
    var s3: String?

    @Option(help: "For how many seconds the clients stay connected while nothing happens, between steps 5 and 6.")
    var idle: Int = 0

    @Flag(help: "Never overwrite lines, for logs.")
    var plain = false

    package init() {}

    package func validate() throws {
        guard rows >= 1_000, rows <= 5_000_000 else {
            throw ValidationError("--rows must be between 1000 and 5000000, got \(rows)")
        }
        guard (0...86_400).contains(idle) else {
            throw ValidationError("--idle must be between 0 and 86400, got \(idle)")
        }
        if transport == .websocket, format == .ndjson {
            throw ValidationError("lines over a WebSocket are always BSON; leave out --format or --transport")
        }
        if let s3, URL(string: s3)?.host() == nil {
            throw ValidationError("--s3 must be a URL like http://127.0.0.1:9000, got \(s3)")
        }
    }

    package func run() async throws {
        // There is something to take away afterwards.
        Terminal.outlivesItsReaders()
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-demo-\(UUID().uuidString)")
        try PrivateFiles.createFolder(at: folder.path)
        let terminal = Terminal(plain: plain)
        let key = DemoKey()
        do {
            if let source {
                try await run(on: source, folder, key: key, terminal: terminal) {
                    try await demo(over: $0, key, folder, terminal)
                }
            } else {
                try await demo(over: embedded(in: folder, key), key, folder, terminal).run()
            }
        } catch let interruption as Interruption {
            try? terminal.line()
            try? terminal.line("Stopped; nothing is left.")
            try? FileManager.default.removeItem(at: folder)
            throw ExitCode(interruption.exitStatus)
        } catch let error as UnwritableOutput {
            // Nobody can see what it shows: it has stopped as if it had been told to.
            try? FileManager.default.removeItem(at: folder)
            throw error
        } catch {
            try? terminal.line()
            try? terminal.line("The demo FAILED: \(error)")
            try? terminal.line("Its files are in \(folder.path)")
            throw ExitCode.failure
        }
        try FileManager.default.removeItem(at: folder)
    }

    private func demo(
        over deployment: any DemoDeployment,
        _ key: DemoKey,
        _ folder: URL,
        _ terminal: Terminal
    ) async throws -> Demo {
        Demo(
            terminal: terminal,
            deployment: deployment,
            folder: folder,
            rows: rows,
            idleTime: .seconds(idle),
            format: format,
            transport: transport,
            signer: try key.signer(),
            s3: try await photoBucket()
        )
    }

    /// What all services of the demo have in common.
    func configuration(
        source: ServiceConfiguration.Source,
        storage: ServiceConfiguration.Storage,
        syncConfig: String,
        key: DemoKey
    ) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(source: source, storage: storage, syncConfig: .content(syncConfig))
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.formats = format == .ndjson ? .ndjsonOnly : .all
        key.add(to: &configuration.authentication)
        return configuration
    }

    /// The bucket for photos at ``s3``, which is created if there is none.
    private func photoBucket() async throws -> S3Signer? {
        guard let s3, let endpoint = URL(string: s3) else { return nil }
        let signer = S3Signer(
            bucket: S3Bucket(name: "powersync-demo", region: "us-east-1", endpoint: endpoint, addressing: .path),
            credentials: S3Credentials(accessKeyID: "demo", secretAccessKey: "demo")
        )
        var request = HTTPClientRequest(url: try signer.presignedURL(method: "PUT", key: "").absoluteString)
        request.method = .PUT
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        // 409: it is there already.
        guard [200, 409].contains(response.status.code) else {
            throw DemoFailure("creating a bucket at \(s3) was answered with \(response.status.code)")
        }
        return signer
    }
}
