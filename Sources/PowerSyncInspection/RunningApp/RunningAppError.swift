/// Why a running app has not answered as asked.
struct RunningAppError: Error, Sendable, Encodable, Equatable {
    /// The kinds of reasons.
    enum Code: String, Sendable, Encodable {
        /// No app listens at the path.
        case notListening
        /// The app has ended the connection, or what answers is no app of this SDK.
        case noAnswer
        /// The app was asked, and refuses: the statement is wrong, a stream cannot be subscribed to.
        case refused
    }

    /// What kind of reason it is.
    let code: Code
    /// A sentence for people.
    let message: String

    /// Creates an error.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension RunningAppError: CustomStringConvertible {
    /// The message.
    var description: String { message }
}
