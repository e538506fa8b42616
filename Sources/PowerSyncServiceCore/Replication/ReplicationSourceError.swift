/// Why a source cannot be replicated.
package struct ReplicationSourceError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case configuration, historyLost, tablesChanged
        }

        private let value: Value

        /// The source's configuration or schema cannot be used.
        package static let configuration = Code(value: .configuration)
        /// Changes that a stream needs are gone: it must start again.
        package static let historyLost = Code(value: .historyLost)
        /// A table is no longer the one that was described: describe it again.
        package static let tablesChanged = Code(value: .tablesChanged)

        package var description: String { value.rawValue }
    }

    /// What went wrong.
    package let code: Code
    /// For operators: names the table or stream, and says what to do.
    package let message: String

    /// Creates an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
