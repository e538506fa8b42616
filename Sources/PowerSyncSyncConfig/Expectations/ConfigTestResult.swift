package import PowerSyncProtocol

/// What came out of a test.
package struct ConfigTestResult: Sendable {
    /// What came out of one case.
    package struct Case: Sendable {
        /// Its name.
        package var name: String
        /// The code that the request ends with.
        package var error: String?
        /// What the client gets; `nil` when there was no request.
        package var reply: RehearsedReply?
        /// Why the client gets each bucket, if that was asked for.
        package var reasons: [BucketName: [String]] = [:]
        /// What is not as it must be.
        package var failures: [String]
    }

    /// Whether the config can be deployed.
    package internal(set) var isAccepted = false
    /// Findings about the config.
    package let diagnostics: [ConfigDiagnostic]
    /// Findings about the test.
    package let testFindings: [ConfigTestFinding]
    /// For each source row in the order of the file, what it becomes.
    package internal(set) var rows: [[BucketRow]] = []
    /// Rows that could not be evaluated everywhere.
    package internal(set) var rowProblems: [Rehearsal.Problem] = []
    /// The cases.
    package internal(set) var cases: [Case] = []

    /// Whether everything is as it must be: the config can be deployed, the test could be read, and no case failed.
    package var isSuccess: Bool {
        isAccepted && !testFindings.contains { $0.level == "error" } && cases.allSatisfy(\.failures.isEmpty)
    }

    /// A test whose config could not be read.
    package init(testFindings: [ConfigTestFinding]) {
        self.init(diagnostics: [], testFindings: testFindings)
    }

    init(diagnostics: [ConfigDiagnostic], testFindings: [ConfigTestFinding]) {
        self.diagnostics = diagnostics
        self.testFindings = testFindings
    }
}

// MARK: - Text

extension ConfigTestResult {
    /// The result for people: findings, then a line for each case with its failures below.
    ///
    /// - Parameters:
    ///   - file: The name of the test.
    ///   - config: The name of the config.
    ///   - showsRows: Whether to list every row that arrives, with its reason.
    /// - Returns: Lines.
    package func text(file: String, config: String, showsRows: Bool = false) -> String {
        var lines = diagnostics.map { $0.rendered(file: config) }
        lines += testFindings.map { "\(file):\($0.line):\($0.column): \($0.level): \($0.message) [\($0.code)]" }
        lines += rowProblems.map { "\(file): note: \($0)" }
        for test in cases {
            lines.append("\(file): \(test.failures.isEmpty ? "passed" : "FAILED"): \(test.name)")
            lines += test.failures.map { "    \($0)" }
            lines += test.streamErrors.map { "    note: stream “\($0.stream)”: \($0.message)" }
            guard showsRows else { continue }
            for row in test.reply?.rows ?? [] {
                lines.append("    \(row.path) at priority \(row.priority.rawValue) \(row.reason(test.reasons))")
            }
        }
        if !isAccepted, diagnostics.contains(where: { $0.severity == .error }) {
            lines.append("\(file): FAILED: the config cannot be deployed")
        }
        return lines.map { "\($0)\n" }.joined()
    }
}

extension ConfigTestResult.Case {
    /// Subscriptions that could not be evaluated.
    var streamErrors: [(stream: String, subscription: Int?, message: String)] {
        (reply?.streams ?? []).flatMap { stream in
            stream.errors.map { error in
                let subscription: Int? = if case .subscription(let index) = error.subject { index } else { nil }
                return (stream.name, subscription, error.message)
            }
        }
    }
}
