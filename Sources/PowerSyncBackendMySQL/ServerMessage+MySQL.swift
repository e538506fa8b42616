import PowerSyncUpload

extension ServerMessage {
    /// A message of MySQL or MariaDB: errors about values quote them, such as `Incorrect integer value: '…' for column 'n' at row 1`.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - number: The number of the error.
    /// - Returns: The message, with `…` for the value.
    static func ofMySQL(_ message: String, number: UInt16) -> String {
        guard quotingErrors.contains(number) else { return message }
        // What follows the value names a column or a key; a value may have quotation marks of its own.
        for end in ["' for column ", "' for key ", "' for function "] where message.contains(end) {
            return replacing(in: message, from: "'", to: end)
        }
        return replacing(in: message, from: "'", to: "'")
    }

    /// Duplicates, wrong values, dates, texts, and results of expressions.
    private static let quotingErrors: Set<UInt16> = [1062, 1292, 1366, 1367, 1411, 1525, 1586, 1690]
}
