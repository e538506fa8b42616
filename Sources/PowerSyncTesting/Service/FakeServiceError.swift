public import Foundation

/// Why a ``FakeService`` cannot do what a test asks for.
public struct FakeServiceError: Error, Sendable, LocalizedError, CustomStringConvertible {
    /// What is wrong.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidConfig, unknownTable, missingID, invalidID, missingRow, foreignDatabase, customWriteCheckpoints
        }

        private let value: Value

        /// The sync config has errors; ``FakeServiceError/diagnostics`` has all of them.
        public static let invalidConfig = Code(value: .invalidConfig)
        /// No stream of the sync config reads the table.
        public static let unknownTable = Code(value: .unknownTable)
        /// A row has no column `id`, or it is NULL.
        public static let missingID = Code(value: .missingID)
        /// The `id` of a row is neither a text nor an integer, or it is empty.
        public static let invalidID = Code(value: .invalidID)
        /// There is no row to update.
        public static let missingRow = Code(value: .missingRow)
        /// The database is not one of this SDK.
        public static let foreignDatabase = Code(value: .foreignDatabase)

        /// The sync config has events that tell write checkpoints: the service makes none itself.
        public static let customWriteCheckpoints = Code(value: .customWriteCheckpoints)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// What is wrong, in words.
    public let message: String
    /// What is wrong with the sync config, in the order of the file, each with line and column.
    public let diagnostics: [String]

    init(_ code: Code, _ message: String, diagnostics: [String] = []) {
        self.code = code
        self.message = message
        self.diagnostics = diagnostics
    }

    /// The message, and the diagnostics on lines of their own.
    public var description: String { ([message] + diagnostics).joined(separator: "\n") }

    /// The text for people: ``description``.
    public var errorDescription: String? { description }
}
