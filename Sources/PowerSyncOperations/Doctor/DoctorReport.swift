import Foundation
package import PowerSyncServiceCore
import PowerSyncTerminal

/// What a doctor has found, for people and for tools.
package struct DoctorReport: Encodable {
    private enum CodingKeys: String, CodingKey {
        case errors, warnings, findings
    }

    /// In the order of the looks.
    package var findings: [Finding]

    /// Creates a report.
    package init(findings: [Finding] = []) {
        self.findings = findings
    }

    /// How many errors there are.
    package var errors: Int { findings.filter { $0.severity == .error }.count }
    /// How many warnings there are.
    package var warnings: Int { findings.filter { $0.severity == .warning }.count }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(errors, forKey: .errors)
        try container.encode(warnings, forKey: .warnings)
        try container.encode(findings, forKey: .findings)
    }

    package func json() throws -> String {
        String(decoding: try JSONEncoder.forReports.encode(self), as: UTF8.self)
    }

    /// A line for each finding, what to do below it, and the sum at the end.
    package var lines: [String] {
        var lines: [String] = []
        for finding in findings {
            let level = finding.severity.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0)
            let area = finding.area.rawValue.replacing("_", with: " ").padding(
                toLength: 15,
                withPad: " ",
                startingAt: 0
            )
            let place = finding.place.description.isEmpty ? "" : "\(finding.place): "
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
