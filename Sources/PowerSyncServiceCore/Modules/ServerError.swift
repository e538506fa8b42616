/// An error of a database server, or of the way to it.
package protocol ServerError: Error {
    /// Whether the server could not be asked, so that nothing is known to be wrong with what it keeps.
    var isUnanswered: Bool { get }
}
