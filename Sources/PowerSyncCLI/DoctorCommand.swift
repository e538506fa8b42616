import ArgumentParser
import Foundation
import Logging
import PowerSyncTerminal
import PowerSyncService

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

    @Flag(help: "Print one JSON object.")
    var json = false

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
        if json { try StandardOutput.print(report.json()) } else { try StandardOutput.print(lines: report.lines) }
        guard report.errors == 0 else { throw ExitCode.failure }
    }

    /// The configuration to look at: without a file of the usual name, somebody who asks about a service elsewhere has none.
    private var location: ConfigurationLocation? {
        let location = config.location
        guard service != nil, !location.isGiven else { return location }
        return FileManager.default.fileExists(atPath: ConfigurationLocation.usualFile) ? location : nil
    }
}

/// What a doctor has found, for people and for tools.
struct DoctorReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case errors, warnings, findings
    }

    /// In the order of the looks.
    var findings: [DoctorFinding] = []

    /// How many errors there are.
    var errors: Int { findings.filter { $0.level == .error }.count }
    /// How many warnings there are.
    var warnings: Int { findings.filter { $0.level == .warning }.count }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(errors, forKey: .errors)
        try container.encode(warnings, forKey: .warnings)
        try container.encode(findings, forKey: .findings)
    }

    func json() throws -> String {
        String(decoding: try JSONEncoder.forReports.encode(self), as: UTF8.self)
    }

    /// A line for each finding, what to do below it, and the sum at the end.
    var lines: [String] {
        var lines: [String] = []
        for finding in findings {
            let level = finding.level.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0)
            let area = finding.area.rawValue.replacing("_", with: " ").padding(
                toLength: 15,
                withPad: " ",
                startingAt: 0
            )
            let place = finding.place.map { "\($0): " } ?? ""
            let code = finding.code.map { " [\($0)]" } ?? ""
            let message = finding.message.split(separator: "\n", omittingEmptySubsequences: false)
            lines.append("\(level)\(area)\(place)\(message.first ?? "")\(code)")
            lines += message.dropFirst().map { "         \($0)" }
            if let remedy = finding.remedy { lines.append("         \(remedy)") }
        }
        let summary =
            switch (errors, warnings) {
            case (0, 0): "Nothing is wrong."
            case (0, _): "Nothing keeps the service from working; warnings: \(warnings)."
            default: "Errors: \(errors), warnings: \(warnings)."
            }
        return lines + [summary]
    }
}
