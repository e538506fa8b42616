import Foundation
import PowerSyncClient

/// The SHA-256 digests that the headers of a download announce.
///
/// - `Repr-Digest: sha-256=:BASE64:` (RFC 9530) is of the whole file, whatever part is sent.
/// - `Content-Digest: sha-256=:BASE64:` (RFC 9530) and `x-amz-checksum-sha256: BASE64` (S3) are of what is sent: they count
///   when that is the whole file. S3 has digests of digests for files that came in parts, `BASE64-7`; those say nothing here.
enum AnnouncedDigests {
    /// The digests of the whole file, 32 bytes each.
    ///
    /// Malformed ones are left out.
    static func find(header: (String) -> String?, isWholeFile: Bool) -> [Data] {
        var digests = [header("Repr-Digest").flatMap(structured)]
        if isWholeFile {
            digests.append(header("Content-Digest").flatMap(structured))
            digests.append(header("x-amz-checksum-sha256").flatMap(decoded))
        }
        return digests.compactMap(\.self)
    }

    /// The digest in a dictionary of structured fields: `sha-512=:…:, sha-256=:…:`.
    private static func structured(_ header: String) -> Data? {
        for member in header.split(separator: ",") {
            let text = member.trimmingPrefix { $0 == " " || $0 == "\t" }
            guard text.lowercased().hasPrefix("sha-256=:") else { continue }
            return decoded(text.dropFirst("sha-256=:".count).prefix { $0 != ":" })
        }
        return nil
    }

    private static func decoded(_ base64: some StringProtocol) -> Data? {
        guard let digest = Data(base64Encoded: String(base64)), digest.count == 32 else { return nil }
        return digest
    }
}
