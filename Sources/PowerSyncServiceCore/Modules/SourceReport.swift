package import PowerSyncProtocol

/// What `powersync test-connection` finds out about the source of a service.
package struct SourceReport: Sendable {
    /// How far the check came.
    package enum Outcome: Sendable {
        /// The source has answered; what it lacks is in the findings.
        case checked([Finding])
        /// There is no connection, or it was lost.
        case unreachable(message: String, remedy: String?)
    }

    /// Something that keeps rows from being replicated, or may do so one day.
    package struct Finding: Sendable, Hashable {
        /// How bad it is.
        package enum Severity: String, Sendable, Hashable {
            /// Nothing can be replicated.
            case error
            /// Something is left out, or will be one day.
            case warning
        }

        /// How bad it is.
        package var severity: Severity
        /// The code of the error catalogue, if there is one.
        package var code: ErrorCode?
        /// What is wrong, and what follows from it.
        package var message: String
        /// What mends it; `nil` when nothing has to be done.
        package var remedy: String?

        /// Creates a finding.
        package init(severity: Severity, code: ErrorCode?, message: String, remedy: String?) {
            self.severity = severity
            self.code = code
            self.message = message
            self.remedy = remedy
        }
    }

    /// The source, without secrets.
    package let source: String
    /// The version of the server, if it has answered and has one.
    package let serverVersion: String?
    /// How far the check came.
    package let outcome: Outcome

    /// Creates a report.
    package init(source: String, serverVersion: String?, outcome: Outcome) {
        self.source = source
        self.serverVersion = serverVersion
        self.outcome = outcome
    }

    /// The report with more findings, if the source has answered.
    package func adding(_ findings: [Finding]) -> SourceReport {
        guard case .checked(let found) = outcome else { return self }
        return SourceReport(source: source, serverVersion: serverVersion, outcome: .checked(found + findings))
    }
}

extension SourceReport.Finding: CustomStringConvertible {
    /// One line, and one more for what mends it.
    package var description: String {
        "\(severity.rawValue): \(message)\(code.map { " [\($0)]" } ?? "")\(remedy.map { "\n  \($0)" } ?? "")"
    }
}
