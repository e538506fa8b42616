/// Why a token cannot be signed, or is not accepted.
///
/// ```swift
/// do {
///     user = try await signer.verify(authorization: header)
/// } catch {
///     return .unauthorized(error.message)
/// }
/// ```
public struct TokenError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case key, lifetime, claim, refused
        }

        private let value: Value

        /// The key cannot be used.
        public static let key = Code(value: .key)
        /// A token would be valid for a time that the sync service refuses.
        public static let lifetime = Code(value: .lifetime)
        /// A claim of the app has the name of one that the signer makes, or cannot be written as JSON.
        public static let claim = Code(value: .claim)
        /// A token is missing, is no token, has expired, or was not signed with one of the keys for this audience.
        public static let refused = Code(value: .refused)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What kind of error it is.
    public let code: Code
    /// What is wrong, without anything of a key or token.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
