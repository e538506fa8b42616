/// Why a file cannot be inspected.
struct ClientFileError: Error, Sendable, Encodable {
    /// The kinds of reasons.
    enum Code: String, Sendable, Encodable {
        case missing, folder, empty, notSQLite, encrypted, wrongKey, unusableKey, noCipher, notPowerSync, newerVersion,
            inUse, unreadable
    }

    /// What kind of reason it is.
    let code: Code
    /// A sentence that names the file and says what to do.
    let message: String

    /// Creates an error.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ClientFileError: CustomStringConvertible {
    /// The message.
    var description: String { message }
}
