import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncS3
import PowerSyncService

/// `powersync demo`: the whole loop in one process, over real connections.
struct DemoCommand: AsyncParsableCommand {
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

    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show offline writes, uploads, live sync, priorities and recovery; fail if any of it goes wrong.",
        discussion: """
            Starts a service with an embedded source on a loopback port and three clients with files in a temporary \
            folder. Ends by itself. Exits with 1 when something that it shows did not happen.
            """
    )

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

    func validate() throws {
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

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let terminal = Terminal(plain: plain)
        do {
            let demo = Demo(
                terminal: terminal,
                folder: folder,
                rows: rows,
                idleTime: .seconds(idle),
                format: format,
                transport: transport,
                s3: try await photoBucket()
            )
            try await demo.run()
        } catch {
            terminal.line()
            terminal.line("The demo FAILED: \(error)")
            terminal.line("Its files are in \(folder.path)")
            throw ExitCode.failure
        }
        try FileManager.default.removeItem(at: folder)
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
