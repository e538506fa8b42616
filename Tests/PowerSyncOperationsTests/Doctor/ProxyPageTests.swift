import Foundation
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService

/// The configurations of the page "Deploying behind a proxy", as they stand there but for addresses and files.
@Suite(.timeLimit(.minutes(3))) struct ProxyPageTests {
    private static let page = URL(filePath: #filePath)
        .appending(path: "../../../../Sources/PowerSyncService/Documentation.docc/DeployingBehindAProxy.md")

    /// The block of a language, with the parts that only the reader knows.
    private static func block(_ language: String, replacing parts: KeyValuePairs<String, String>) throws -> String {
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        var block = try #require(text.components(separatedBy: "```\(language)\n").dropFirst().first)
        block = try #require(block.components(separatedBy: "\n```").first)
        for (part, replacement) in parts {
            try #require(block.contains(part), "\(part) is no longer on the page")
            block = block.replacing(part, with: replacement)
        }
        return block
    }

    /// Runs a service, and the files for the proxy's certificate.
    private static func run(_ body: (ServiceScenario, TLSFiles, _ authority: String) async throws -> Void) async throws
    {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder)
        let authority = folder.path("authority.pem")
        try LoopbackCertificates.authority.write(toFile: authority, atomically: true, encoding: .utf8)
        try await ProtocolCheck.run { scenario in try await body(scenario, files, authority) }
    }

    /// Everything passes: what the doctor asks, and all checks of the protocol.
    private static func expectEverything(_ proxy: ServiceScenario, _ authority: String) async throws {
        let service = try PublicService(
            address: proxy.address.url,
            token: try proxy.token(),
            authorityFile: authority
        )
        let findings = try await Doctor(logger: ServiceScenario.logger).examine(service)
        #expect(findings.allSatisfy { $0.severity == .ok }, "\(findings)")
        #expect(findings.filter { $0.area == .service }.count == 5)
        let check = try await ProtocolCheck(proxy, authority: authority)
        #expect(check.status == 0, "\(check.failures)")
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func nginx() async throws {
        try await Self.run { scenario, files, authority in
            try await NginxProxy.run(to: scenario, isEncrypted: true) { port in
                try Self.block(
                    "nginx",
                    replacing: [
                        "listen 443 ssl;": "listen 127.0.0.1:\(port) ssl;",
                        "server 127.0.0.1:8080 max_fails=0;": "server 127.0.0.1:\(scenario.address.port);",
                        "/etc/letsencrypt/live/sync.example.com/fullchain.pem": files.certificate,
                        "/etc/letsencrypt/live/sync.example.com/privkey.pem": files.privateKey,
                    ]
                )
            } _: { proxy in
                try await Self.expectEverything(proxy, authority)
            }
        }
    }

    @Test(.enabled(if: !ProxyProcess.areUnwanted, "POWERSYNC_NO_PROXIES is set"))
    func caddy() async throws {
        let process = ProxyProcess(
            program: try ProxyProcess.program("caddy"),
            arguments: { file, _ in ["run", "--config", file, "--adapter", "caddyfile"] },
            readyText: "serving initial configuration",
            isEncrypted: true
        )
        try await Self.run { scenario, files, authority in
            try await process.run(to: scenario) { port, _ in
                let block = try Self.block(
                    "caddy",
                    replacing: [
                        // It has a certificate already.
                        "sync.example.com {":
                            "https://127.0.0.1:\(port) {\n    tls \(files.certificate) \(files.privateKey)",
                        "127.0.0.1:8080": "127.0.0.1:\(scenario.address.port)",
                    ]
                )
                return "{\n    admin off\n    auto_https disable_redirects\n}\n\(block)\n"
            } _: { proxy in
                try await Self.expectEverything(proxy, authority)
            }
        }
    }
}
