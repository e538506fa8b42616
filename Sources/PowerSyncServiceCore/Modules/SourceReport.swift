/// What `powersync test-connection` finds out about the source of a service.
package struct SourceReport: Sendable {
    /// How far the check came.
    package enum Outcome: Sendable {
        /// The source has answered; what it lacks is in the findings.
        case checked([Finding])
        /// There is no connection, or it was lost.
        case unreachable(Finding)
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
        return SourceReport(source: source, serverVersion: serverVersion, outcome: .checked(findings + found))
    }
}
