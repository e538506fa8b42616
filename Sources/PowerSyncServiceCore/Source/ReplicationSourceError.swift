package import PowerSyncProtocol

/// Why a source cannot be replicated, or not now.
package struct ReplicationSourceError: PausingError, CataloguedError, Sendable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case configuration, historyLost, retentionExceeded, tablesChanged, tableUnavailable, unavailable
        }

        private let value: Value

        /// The source's configuration or schema cannot be used.
        package static let configuration = Code(value: .configuration)
        /// Changes that a stream needs are gone: it must start again.
        package static let historyLost = Code(value: .historyLost)
        /// The source has thrown away changes that it was asked to keep a while ago: it keeps too little.
        package static let retentionExceeded = Code(value: .retentionExceeded)
        /// A table is no longer the one that was described: describe it again.
        package static let tablesChanged = Code(value: .tablesChanged)
        /// A table cannot be read, and others can: ask for its ``TableObstacle``.
        package static let tableUnavailable = Code(value: .tableUnavailable)
        /// The source does not answer, or cannot do what it was asked for: try again.
        package static let unavailable = Code(value: .unavailable)

        package var description: String { value.rawValue }
    }

    /// What went wrong.
    package let code: Code
    /// The code of the error catalogue, if there is one.
    package let catalogueCode: ErrorCode?
    /// For operators: names the table or stream, and says what to do.
    package let message: String
    /// Whether the source was told before that a later position is stored: the storage is an older copy of itself.
    package let isOfOlderStorage: Bool
    /// The error that caused this one.
    package let underlyingError: (any Error)?

    /// Creates an error.
    package init(
        _ code: Code,
        _ message: String,
        catalogueCode: ErrorCode? = nil,
        isOfOlderStorage: Bool = false,
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.catalogueCode = catalogueCode
        self.message = message
        self.isOfOlderStorage = isOfOlderStorage
        self.underlyingError = underlyingError
    }

    /// The message with its code: in front of what the service says, behind what another error says.
    package var description: String {
        guard let catalogueCode else { return message }
        return underlyingError == nil ? "[\(catalogueCode)] \(message)" : "\(message) [\(catalogueCode)]"
    }

    package var uncodedDescription: String { message }

    /// A minute when the source keeps too little: an operator has to change that.
    package var pause: Duration? {
        code == .retentionExceeded ? .seconds(60) : (underlyingError as? any PausingError)?.pause
    }
}

extension ReplicationSourceError {
    /// The error of a call that has failed: in its own words, with its code of the error catalogue if it has one.
    ///
    /// - Parameter error: What the call has thrown.
    package init(_ error: any Error) {
        let catalogued = error as? any CataloguedError
        self.init(
            .unavailable,
            catalogued?.uncodedDescription ?? "\(error)",
            catalogueCode: catalogued?.catalogueCode,
            underlyingError: error
        )
    }
}
