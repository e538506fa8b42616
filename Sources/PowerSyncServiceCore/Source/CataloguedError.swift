package import PowerSyncProtocol

/// An error of a source that may have a code of the error catalogue, by which operators look it up.
package protocol CataloguedError: Error {
    /// The code; `nil` when there is none for what has happened.
    var catalogueCode: ErrorCode? { get }
}
