import ArgumentParser
import Foundation
import Logging
import PowerSyncOperations
import PowerSyncTerminal
import PowerSyncService
import PowerSyncServiceCore

/// `powersync doctor`: looks for everything that keeps a service from starting, working or being reached.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out what keeps a service from starting, working, or being reached.",
        discussion: """
            Looks at the configuration, the sync config, the keys of tokens, the clock, the certificate, the ports, the storage \
            and its disk, the source and its replication slots. With --service also at a running service through its public \
            address: whether requests arrive with their Authorization, whether a proxy keeps lines of streams back, whether \
            WebSockets can be opened. Changes nothing, and may run while the service does.

            Every finding says what, where, and what to do. Exits with 0 when there is no error (warnings are allowed), with 1 \
            when there is one.

              powersync doctor --service https://sync.example.com --token "$(powersync token --user me)"
            """
    )

    @OptionGroup var config: ConfigurationOptions

    @OptionGroup var process: ProcessOptions

    @Option(help: "The address at which clients reach the running service, such as https://sync.example.com.")
    var service: String?

    @Option(help: "A client's token, to open a real stream at --service.")
    var token: String?

    @Option(help: "The authorities whose certificates --service may have, as a PEM file.", completion: .file())
    var authority: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if service == nil, token != nil || authority != nil {
            throw ValidationError("--token and --authority are for --service, the address of a running service")
        }
    }

    func run() async throws {
        let doctor = Doctor(logger: .ofCommand)
        // First, so that a wrong address is told at once.
        let address = try service.map { try PublicService(address: $0, token: token, authorityFile: authority) }
        var report = DoctorReport()
        if let location { report.findings = try await doctor.examine(location, as: process.role) }
        if let address { report.findings += try await doctor.examine(address) }
        switch output.format {
        case .text: try StandardOutput.print(lines: report.lines)
        case .json: try StandardOutput.print(report.json())
        }
        guard report.errors == 0 else { throw ExitCode.failure }
    }

    /// The configuration to look at: without a file of the usual name, somebody who asks about a service elsewhere has none.
    private var location: ConfigurationLocation? {
        let location = config.location
        guard service != nil, !location.isGiven else { return location }
        return FileManager.default.fileExists(atPath: ConfigurationLocation.usualFile) ? location : nil
    }
}
