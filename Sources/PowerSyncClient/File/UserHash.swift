import Crypto
import Foundation

/// What a file keeps of a user: a hash that does not tell who the user is, and is another one in each file.
enum UserHash {
    /// The hash of a user.
    ///
    /// - Parameters:
    ///   - subject: What tells the user from others.
    ///   - salt: A text of the file's own: its client id, or the salt of a seed.
    /// - Returns: 64 hexadecimal digits.
    static func text(of subject: String, salt: String) -> String {
        SHA256.hash(data: Data("\(salt)\n\(subject)".utf8)).map { String(format: "%02x", $0) }.joined()
    }
}
