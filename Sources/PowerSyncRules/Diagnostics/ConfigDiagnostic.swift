/// A finding about a sync config, with its place in the YAML text (docs/sync-config.md "Findings").
package struct ConfigDiagnostic: Sendable, Hashable {
    /// How serious a finding is.
    package enum Severity: String, Sendable, Hashable {
        /// The config cannot be used.
        case error
        /// The config can be used, but may not do what its author thinks.
        case warning
    }

    /// How serious the finding is.
    package let severity: Severity
    /// A stable identifier, for example `sql.syntax`.
    package let code: String
    /// What is wrong and what to do.
    package let message: String
    /// The bytes of the YAML text that the finding is about.
    package let range: Range<Int>
    /// The line of the first byte, starting from 1.
    package let line: Int
    /// The column of the first byte, starting from 1, counted in Unicode scalars.
    package let column: Int

    /// The finding in the form that editors and terminals link: `sync.yaml:4:12: error: … [sql.syntax]`.
    ///
    /// - Parameter file: The name of the config file.
    /// - Returns: One line.
    package func formatted(file: String) -> String {
        "\(file):\(line):\(column): \(severity.rawValue): \(message) [\(code)]"
    }
}

extension ConfigDiagnostic: CustomStringConvertible {
    /// The finding with `sync.yaml` as the name of the file.
    package var description: String { formatted(file: "sync.yaml") }
}
