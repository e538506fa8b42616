import Crypto
import Foundation
import PowerSync
import PowerSyncS3

/// Where the demo's photos are stored, and who signs the URLs that lead there.
enum PhotoStorage: Sendable {
    /// In a folder, behind the backend's own `/photos/objects`.
    case folder(URL, key: SymmetricKey)
    /// In an S3-compatible storage.
    case s3(S3Signer)

    /// How long a signed URL is good for.
    private static let lifetime = Duration.seconds(300)

    /// Signs a URL for one file.
    ///
    /// - Parameters:
    ///   - operation: What may be done with the file.
    ///   - name: Its name.
    ///   - backend: The base URL of the backend.
    /// - Returns: The URL and the method.
    /// - Throws: An error of the signer.
    func sign(_ operation: SignedURLRequest.Operation, _ name: String, backend: String) throws -> SignedPhotoURL {
        switch self {
        case .folder(_, let key):
            let expires = Int(Date.now.timeIntervalSince1970) + Int(Self.lifetime.components.seconds)
            let code = HMAC<SHA256>.authenticationCode(for: Self.message(operation.method, name, expires), using: key)
            let signature = code.map { String($0, radix: 16) }.joined(separator: "-")
            return SignedPhotoURL(
                url: "\(backend)/photos/objects/\(name)?expires=\(expires)&signature=\(signature)",
                method: operation.method
            )
        case .s3(let signer):
            let url = try signer.presignedURL(method: operation.method, key: name, validFor: Self.lifetime)
            return SignedPhotoURL(url: url.absoluteString, method: operation.method)
        }
    }

    /// Whether a URL of this storage allows a request.
    func allows(_ method: String, _ name: String, expires: Int?, signature: String?) -> Bool {
        guard case .folder(_, let key) = self, let expires, let signature,
            Date.now.timeIntervalSince1970 < Double(expires)
        else { return false }
        let code = signature.split(separator: "-").compactMap { UInt8($0, radix: 16) }
        let message = Self.message(method, name, expires)
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message, using: key)
    }

    private static func message(_ method: String, _ name: String, _ expires: Int) -> Data {
        Data("\(method)\n\(name)\n\(expires)".utf8)
    }
}

/// The backend's answer, as `SignedURLAttachmentTransport` documents it.
struct SignedPhotoURL: Encodable {
    var url: String
    var method: String
}

extension SignedURLRequest.Operation {
    /// The HTTP method of the transfer.
    var method: String {
        switch self {
        case .upload: "PUT"
        case .download: "GET"
        case .delete: "DELETE"
        }
    }
}
