import Foundation
import TestSupport

@testable import PowerSyncService

/// A real nginx before a service, which keeps its connections to the service and uses them again for whatever comes next.
enum NginxProxy {
    /// The program, if it is installed.
    static let program = [
        "/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin",
    ]
    .map { $0 + "/nginx" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// It did not start; these are its words.
    struct NotStarted: Error {
        var output: [String]
    }

    /// Runs a proxy for the duration of `body`.
    ///
    /// - Parameters:
    ///   - scenario: The service.
    ///   - body: Gets the same service, at the address of the proxy.
    /// - Throws: ``NotStarted``, or what `body` throws.
    static func run(to scenario: ServiceScenario, _ body: (ServiceScenario) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        var output: [String] = []
        // Somebody else may have the port: then nginx ends, and another one is tried.
        for _ in 0..<5 {
            let port = Int.random(in: 20_000..<40_000)
            let file = folder.path("nginx.conf")
            let text = configuration(port: port, service: scenario.address.port, folder: folder.path(""))
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let process = Process()
            process.executableURL = URL(filePath: program ?? "nginx")
            process.arguments = ["-p", folder.path(""), "-c", file]
            let words = Pipe()
            process.standardOutput = FileHandle.nullDevice
            process.standardError = words
            try process.run()
            defer { process.terminate() }
            for await line in words.fileHandleForReading.lines() {
                output.append(line)
                // It says so when it listens.
                guard line.contains("event method") else { continue }
                let address = BoundAddress(host: "127.0.0.1", port: port)
                return try await body(ServiceScenario(address: address, service: scenario.service))
            }
        }
        throw NotStarted(output: output)
    }

    /// One process without a daemon or workers, which ends with the test and needs no rights.
    private static func configuration(port: Int, service: Int, folder: String) -> String {
        """
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        error_log stderr notice;
        events { worker_connections 256; }
        http {
            access_log off;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/proxy;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            upstream service { server 127.0.0.1:\(service); keepalive 1; }
            map $http_upgrade $upgraded { default upgrade; '' ''; }
            server {
                listen 127.0.0.1:\(port);
                location / {
                    proxy_pass http://service;
                    proxy_http_version 1.1;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection $upgraded;
                    proxy_next_upstream off;
                }
            }
        }
        """
    }
}
