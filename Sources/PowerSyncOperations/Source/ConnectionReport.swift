import Foundation
package import PowerSyncServiceCore
import PowerSyncTerminal

/// What was found out, for people and for tools.
package struct ConnectionReport: Encodable {
    /// The source, without secrets.
    package var source: String
    /// The version of the server.
    package var serverVersion: String?
    /// Whether the server has answered.
    package var isReachable: Bool
    /// Whether nothing is missing.
    package var canReplicate: Bool
    /// What is wrong, errors first.
    package var findings: [Finding]

    package init(_ report: SourceReport) {
        source = report.source
        serverVersion = report.serverVersion
        switch report.outcome {
        case .checked(let findings):
            isReachable = true
            canReplicate = !findings.hasErrors
            self.findings = findings
        case .unreachable(let finding):
            isReachable = false
            canReplicate = false
            findings = [finding]
        }
    }

    /// One line for the source, then the findings, then what they mean.
    package var lines: [String] {
        var lines = [source + (serverVersion.map { ", version \($0)" } ?? "")]
        lines += findings.flatMap(\.lines)
        if !isReachable {
            lines.append("There is no connection.")
        } else if !canReplicate {
            lines.append("The source cannot be replicated yet.")
        } else {
            lines.append(
                findings.isEmpty
                    ? "The source can be replicated." : "The source can be replicated, but see the warnings."
            )
        }
        return lines
    }

    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
