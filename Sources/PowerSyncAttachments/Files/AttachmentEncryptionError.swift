public import Foundation
import PowerSyncClient

/// Why a file cannot be decrypted.
public struct AttachmentEncryptionError: Error, Sendable, LocalizedError {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        /// The app's closure gave a key that does not have 32 bytes.
        public static let invalidKey = Code(description: "invalidKey")
        /// The file was encrypted with another key.
        public static let wrongKey = Code(description: "wrongKey")
        /// The file was not encrypted by ``EncryptedStorageAdapter``.
        public static let notEncrypted = Code(description: "notEncrypted")
        /// A part of the file was changed, cut off, exchanged or repeated.
        public static let damaged = Code(description: "damaged")
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
