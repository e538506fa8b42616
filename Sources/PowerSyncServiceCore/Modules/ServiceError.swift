package import PowerSyncProtocol

/// Why a service cannot be configured, started or kept running.
///
/// ```swift
/// do {
///     let configuration = try ServiceConfiguration(contentsOf: "service.yaml", environment: [:])
/// } catch {
///     print(error)  // service.yaml:4: port: "80800" is not a whole number between 1 and 65535 [PSYNC_S1110]
/// }
/// ```
public struct ServiceError: Error, Sendable {
    /// The kinds of errors.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidConfiguration, unsupported, invalidSyncConfig, missingKey, portInUse, dataFolder, storage,
                notRunning
        }

        private let value: Value

        /// The configuration has a value that makes no sense, or lacks one that is needed.
        public static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// The configuration asks for something that this version cannot do yet.
        public static let unsupported = Code(value: .unsupported)
        /// The sync config has errors, listed in ``ServiceError/diagnostics``.
        public static let invalidSyncConfig = Code(value: .invalidSyncConfig)
        /// No key is configured that could sign or verify tokens.
        public static let missingKey = Code(value: .missingKey)
        /// Another process listens on the port.
        public static let portInUse = Code(value: .portInUse)
        /// A data folder cannot be created, read or written.
        public static let dataFolder = Code(value: .dataFolder)
        /// The storage or the source failed.
        public static let storage = Code(value: .storage)
        /// The service ended before it was ready, or was started twice.
        public static let notRunning = Code(value: .notRunning)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// What happened and what to do, without position.
    public let message: String
    /// The configuration file, if the error comes from one.
    public let file: String?
    /// The line in ``file``, counted from 1.
    public let line: Int?
    /// The path of the configuration key, such as `replication.connections[0].type`.
    public let key: String?
    /// The findings in a sync config, one a line: `sync.yaml:4:12: error: … [code]`.
    public let diagnostics: [String]
    /// The error that caused this one.
    public let underlyingError: (any Error)?
    /// The code of the error catalogue, if there is one.
    package let catalogueCode: ErrorCode?
    /// What else is wrong with the same file, in the order of its lines.
    public let others: [ServiceError]
    /// What has no effect in the same file, or is not safe.
    package let warnings: [String]

    package init(
        _ code: Code,
        _ message: String,
        file: String? = nil,
        line: Int? = nil,
        key: String? = nil,
        diagnostics: [String] = [],
        underlyingError: (any Error)? = nil,
        catalogueCode: ErrorCode? = nil,
        others: [ServiceError] = [],
        warnings: [String] = []
    ) {
        self.code = code
        self.message = message
        self.file = file
        self.line = line
        self.key = key
        self.diagnostics = diagnostics
        self.underlyingError = underlyingError
        self.catalogueCode = catalogueCode
        self.others = others
        self.warnings = warnings
    }

    /// This error with a code of the error catalogue.
    func withCode(_ code: ErrorCode?) -> ServiceError {
        ServiceError(
            self.code,
            message,
            file: file,
            line: line,
            key: key,
            diagnostics: diagnostics,
            underlyingError: underlyingError,
            catalogueCode: code,
            others: others,
            warnings: warnings
        )
    }

    /// This error as the first one of a file.
    package func followed(by others: [ServiceError], warnings: [String]) -> ServiceError {
        ServiceError(
            code,
            message,
            file: file,
            line: line,
            key: key,
            diagnostics: diagnostics,
            underlyingError: underlyingError,
            catalogueCode: catalogueCode,
            others: others,
            warnings: warnings
        )
    }
}

extension ServiceError: CustomStringConvertible {
    /// `file:line: key: message [code]`, followed by the diagnostics, the cause, and the other errors on lines of their own.
    public var description: String {
        var position = file ?? ""
        if let line, file != nil { position += ":\(line)" }
        var text = [position, key ?? "", message].filter { !$0.isEmpty }.joined(separator: ": ")
        if let catalogueCode { text += " [\(catalogueCode)]" }
        for diagnostic in diagnostics { text += "\n  \(diagnostic)" }
        if let underlyingError { text += "\n  cause: \(underlyingError)" }
        for other in others { text += "\n\(other)" }
        return text
    }
}
