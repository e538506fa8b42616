public import Foundation
import PowerSyncClient

/// Why a file cannot be decrypted.
public struct AttachmentEncryptionError: Error, Sendable, LocalizedError {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: Sendable { case invalidKey, wrongKey, notEncrypted, damaged }

        private let value: Value

        /// The app's closure gave a key that does not have 32 bytes.
        public static let invalidKey = Code(value: .invalidKey)
        /// The file was encrypted with another key.
        public static let wrongKey = Code(value: .wrongKey)
        /// The file was not encrypted by ``EncryptedStorageAdapter``.
        public static let notEncrypted = Code(value: .notEncrypted)
        /// A part of the file was changed, cut off, exchanged or repeated.
        public static let damaged = Code(value: .damaged)

        /// The name of the code.
        public var description: String { "\(value)" }
    }

    /// What kind of failure this is.
    public let code: Code
    /// The path of the file.
    public let path: String

    /// The text for people.
    public var errorDescription: String? {
        switch code {
        case .invalidKey: "The key for attachments does not have 32 bytes."
        case .wrongKey: "The file at \(path) was encrypted with another key."
        case .notEncrypted: "The file at \(path) is not encrypted."
        default: "The encrypted file at \(path) was changed or cut off."
        }
    }
}

extension AttachmentEncryptionError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}
