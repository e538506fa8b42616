package import PowerSyncProtocol

/// Collects what is wrong with a configuration file, so that one run says all of it.
///
/// Used by one reader, from the first key to the last.
package final class ConfigurationFindings {
    private var errors: [ServiceError] = []
    /// What has no effect, or is not safe: one line each, in the order of reading.
    package private(set) var warnings: [String] = []

    /// The code of errors that have none.
    private var usualCode: ErrorCode?

    /// Reads a part of the file whose errors have a code, unless they have one of their own.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - body: Reads.
    /// - Returns: The result of `body`.
    package func withCode<Result>(_ code: ErrorCode, _ body: () -> Result) -> Result {
        let outer = usualCode
        usualCode = code
        defer { usualCode = outer }
        return body()
    }

    /// Adds an error; of several at one key only the first, which caused the others.
    package func fail(_ error: ServiceError) {
        guard !errors.contains(where: { $0.key == error.key && error.key != nil }) else { return }
        errors.append(error.withCode(error.catalogueCode ?? usualCode))
    }

    /// Adds a warning.
    package func warn(_ message: String) { warnings.append(message) }

    /// All errors in the order of the lines, as the first one with the others and the warnings; `nil` when the file can be used.
    package var error: ServiceError? {
        let sorted = errors.enumerated().sorted {
            ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset)
        }
        return sorted.first?.element.followed(by: sorted.dropFirst().map(\.element), warnings: warnings)
    }
}
