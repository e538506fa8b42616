package import PowerSyncSyncConfig
import PowerSyncTerminal

extension ConfigDiagnostic {
    /// The finding with the line of the file that it is about, each as one line for a terminal.
    ///
    /// - Parameter file: The name of the config file.
    /// - Returns: The finding, then its excerpt.
    package func lines(file: String) -> [String] {
        [formatted(file: file)].map { TerminalText.line($0) }
            + excerpt.split(separator: "\n", omittingEmptySubsequences: false).map { TerminalText.line(String($0)) }
    }
}
