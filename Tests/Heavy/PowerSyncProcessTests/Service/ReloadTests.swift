import Foundation
import TestSupport
import Testing

/// `powersync serve` whose sync config is edited, and `powersync status`.
@Suite(.timeLimit(.minutes(2))) struct ReloadTests {
    private static func syncConfig(_ columns: String) -> String {
        """
        config: {edition: 3}
        streams:
          lists:
            query: SELECT \(columns) FROM lists
        """
    }

    /// A running `powersync serve`, and what it logs.
    private struct Running {
        let folder: TemporaryFolder
        let process = Process()
        let port = FreePort.take()
        private var lines: AsyncStream<String>.Iterator

        init(tls: Bool = false) throws {
            folder = try TemporaryFolder()
            let yaml = """
                replication:
                  connections:
                    - {type: embedded, path: source.db, tables: ["CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT)"]}
                storage: {type: sqlite, path: buckets.db}
                sync_config: {path: sync.yaml}
                api: {tokens: [an-admin-token]}
                host: 127.0.0.1
                port: \(port)
                \(tls ? "tls: {certificate: cert.pem, private_key: key.pem}" : "")
                """
            if tls {
                try Self.write(LoopbackCertificates.loopback, LoopbackCertificates.loopbackKey, to: folder)
            }
            try yaml.write(toFile: folder.path("powersync.yaml"), atomically: true, encoding: .utf8)
            try ReloadTests.syncConfig("*").write(toFile: folder.path("sync.yaml"), atomically: true, encoding: .utf8)
            process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appending(path: "powersync")
            process.arguments = ["serve"]
            process.currentDirectoryURL = URL(filePath: folder.path(""))
            let errors = Pipe()
            process.standardOutput = FileHandle.nullDevice
            process.standardError = errors
            try process.run()
            lines = errors.fileHandleForReading.lines().makeAsyncIterator()
        }

        /// Changes the sync config.
        func edit(_ text: String, signals: Bool) throws {
            try text.write(toFile: folder.path("sync.yaml"), atomically: true, encoding: .utf8)
            if signals { kill(process.processIdentifier, SIGHUP) }
        }

        /// Writes both files of the certificate.
        func renew(_ certificate: String, _ key: String) throws {
            try Self.write(certificate, key, to: folder)
        }

        private static func write(_ certificate: String, _ key: String, to folder: TemporaryFolder) throws {
            try certificate.write(toFile: folder.path("cert.pem"), atomically: true, encoding: .utf8)
            try key.write(toFile: folder.path("key.pem"), atomically: true, encoding: .utf8)
        }

        /// Waits for a line of the log.
        mutating func line(containing texts: String...) async throws -> String {
            while let line = await lines.next(isolation: #isolation) {
                if texts.allSatisfy(line.contains) { return line }
            }
            throw Ended(expected: texts)
        }

        /// Waits until the command has said everything.
        mutating func drain() async {
            while await lines.next(isolation: #isolation) != nil {}
        }
    }

    /// The service ended before it had logged what was expected.
    private struct Ended: Error {
        let expected: [String]
    }

    @Test func aRunningServiceTakesUpWhatIsInTheFile() async throws {
        var running = try Running()
        defer { running.process.terminate() }
        _ = try await running.line(containing: "The service is ready")
        try running.edit(Self.syncConfig("id"), signals: true)
        _ = try await running.line(containing: "is active", "replication_stream=2")

        try running.edit("config: {edition: 3}\nstreams:\n  a:\n    query: SELECT FROM\n", signals: true)
        _ = try await running.line(containing: "sync.yaml:4:", "error")
        let broken = try await CommandRun(["status"], in: running.folder)
        #expect(broken.status == 1, "\(broken.text) \(broken.errors)")
        #expect(broken.text.contains("stream 2, ACTIVE"), "\(broken.text)")
        #expect(broken.text.contains("fatal: sync.yaml:4:"), "\(broken.text)")

        // Without a signal.
        try running.edit(Self.syncConfig("id, name"), signals: false)
        _ = try await running.line(containing: "is active", "replication_stream=3")
        let status = try await CommandRun(["status"], in: running.folder)
        #expect(status.status == 0, "\(status.text) \(status.errors)")
        #expect(status.text.contains("stream 3, ACTIVE"), "\(status.text)")
        #expect(status.text.contains("0 open streams"), "\(status.text)")
        let json = try await CommandRun(["status", "--format", "json"], in: running.folder)
        #expect(json.text.hasPrefix(#"{"connections":["#))

        let wrong = try await CommandRun(
            ["status", "--url", "http://127.0.0.1:\(running.port)"],
            in: running.folder,
            environment: ["PS_ADMIN_TOKEN": "x"]
        )
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("not one of api.tokens"))
        running.process.terminate()
        await running.drain()
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 0)
        let gone = try await CommandRun(["status"], in: running.folder)
        #expect(gone.status == 2)
        #expect(gone.errors.contains("does not answer"))
    }
    @Test func aRenewedCertificateIsReadOnSIGHUP() async throws {
        var running = try Running(tls: true)
        defer { running.process.terminate() }
        _ = try await running.line(containing: "The service is ready", "https://127.0.0.1:")
        let status = try await CommandRun(["status"], in: running.folder)
        #expect(status.status == 0, "\(status.text) \(status.errors)")
        #expect(status.text.contains("cert.pem, valid until 2126-10-28T13:34:05Z"), "\(status.text)")

        try running.renew(LoopbackCertificates.elsewhere, LoopbackCertificates.loopbackKey)
        kill(running.process.processIdentifier, SIGHUP)
        _ = try await running.line(containing: "error", "does not go with the certificate")
        try running.renew(LoopbackCertificates.elsewhere, LoopbackCertificates.elsewhereKey)
        kill(running.process.processIdentifier, SIGHUP)
        _ = try await running.line(containing: "The certificate has been read")
        running.process.terminate()
        await running.drain()
        running.process.waitUntilExit()
        #expect(running.process.terminationStatus == 0)
    }
}
