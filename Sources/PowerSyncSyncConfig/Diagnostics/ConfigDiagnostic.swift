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
    /// What is wrong.
    package let message: String
    /// What to do about it.
    package let hint: String?
    /// The bytes of the YAML text that the finding is about.
    package let range: Range<Int>
    /// The line of the first byte, starting from 1.
    package let line: Int
    /// The column of the first byte, starting from 1, counted in Unicode scalars.
    package let column: Int
    /// The line of the file, and below it a line that marks the place.
    ///
    /// ```
    ///     query: SELECT * FORM lists
    ///                     ^^^^
    /// ```
    package let excerpt: String

    /// The finding in the form that editors and terminals link: `sync.yaml:4:12: error: … [sql.syntax]`.
    ///
    /// - Parameter file: The name of the config file.
    /// - Returns: One line.
    package func formatted(file: String) -> String {
        let advice = hint.map { " \($0)" } ?? ""
        return "\(file):\(line):\(column): \(severity.rawValue): \(message)\(advice) [\(code)]"
    }

    /// The finding with the line of the file that it is about.
    ///
    /// - Parameter file: The name of the config file.
    /// - Returns: Lines: ``formatted(file:)``, then ``excerpt``.
    package func rendered(file: String) -> String {
        "\(formatted(file: file))\n\(excerpt)"
    }
}

extension ConfigDiagnostic: CustomStringConvertible {
    /// The finding with `sync.yaml` as the name of the file.
    package var description: String { formatted(file: "sync.yaml") }
}
