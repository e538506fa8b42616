import Foundation
import PowerSyncService
import TestSupport

/// A proxy as a process of its own, on a port of this machine.
package struct ProxyProcess {
    /// It did not start; these are its words.
    package struct NotStarted: Error {
        package var output: [String]
    }

    /// It is not installed.
    package struct Missing: Error, CustomStringConvertible {
        package var name: String

        package var description: String {
            """
            There is no \(name): scripts/install-system-packages installs it on Debian; POWERSYNC_NO_PROXIES=1 leaves out \
            the tests that need one.
            """
        }
    }

    /// The program.
    package var program: String
    /// Makes its arguments of the path of its configuration, and a folder for its files.
    package var arguments: (_ file: String, _ folder: String) -> [String]
    /// What it says when it listens.
    package var readyText: String
    /// Whether it speaks TLS.
    package var isEncrypted: Bool

    package init(
        program: String,
        arguments: @escaping (_ file: String, _ folder: String) -> [String],
        readyText: String,
        isEncrypted: Bool
    ) {
        self.program = program
        self.arguments = arguments
        self.readyText = readyText
        self.isEncrypted = isEncrypted
    }

    /// Whether tests are to do without: who has no proxies says so.
    package static let areUnwanted = ProcessInfo.processInfo.environment["POWERSYNC_NO_PROXIES"] != nil

    /// The path of a program.
    ///
    /// - Throws: ``Missing`` when it is not installed.
    package static func program(_ name: String) throws -> String {
        let path = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
            .map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let path else { throw Missing(name: name) }
        return path
    }

    /// Runs it for the duration of `body`.
    ///
    /// - Parameters:
    ///   - scenario: The service.
    ///   - configuration: Makes the text for a port and a folder.
    ///   - body: Gets the same service, at the address of the proxy.
    /// - Throws: ``NotStarted``, or what `body` throws.
    package func run(
        to scenario: ServiceScenario,
        configuration: (_ port: Int, _ folder: String) throws -> String,
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var output: [String] = []
        // Somebody else may have the port: then the proxy ends, and another one is tried.
        for _ in 0..<5 {
            let port = FreePort.take()
            let file = folder.path("proxy.conf")
            try configuration(port, folder.path("")).write(toFile: file, atomically: true, encoding: .utf8)
            let process = try DependentProcess(
                [program] + arguments(file, folder.path("")),
                environment: ["HOME": folder.path("")]
            )
            defer { process.end() }
            for await line in process.output.lines() {
                output.append(line)
                guard line.contains(readyText) else { continue }
                let address = BoundAddress(host: "127.0.0.1", port: port, isEncrypted: isEncrypted)
                return try await body(ServiceScenario(address: address, service: scenario.service))
            }
        }
        throw NotStarted(output: output)
    }
}
