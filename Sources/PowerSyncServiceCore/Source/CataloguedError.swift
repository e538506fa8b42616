package import PowerSyncProtocol

/// An error that may have a code of the error catalogue, by which operators look it up.
package protocol CataloguedError: Error {
    /// The code; `nil` when there is none for what has happened.
    var catalogueCode: ErrorCode? { get }
    /// What the error says, without its code.
    var uncodedDescription: String { get }
}

extension CataloguedError {
    /// The description, of errors that do not print their code.
    package var uncodedDescription: String { "\(self)" }
}
