package import NIOHTTP1

/// The answer to an HTTP request.
package struct HTTPExchangeResponse {
    /// The content codings that compress, in lower case (the registry of IANA, and their older names).
    private static let compressions: Set = ["gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"]
    /// Fields that hold for the bytes on the wire only.
    private static let ofCompressedBytes = [
        "Content-Length", "ETag", "Content-Digest", "Repr-Digest", "x-amz-checksum-sha256",
    ]

    /// The status.
    package let status: Int
    /// The fields of the head, as far as they are true of ``body``, and `Content-Encoding`, which says how it came.
    package let headers: HTTPHeaders
    /// Whether the body was compressed on the wire, and is not any more.
    package let isDecompressed: Bool
    /// How the body still is compressed; `nil` when it is not.
    package let compression: String?
    /// The body.
    package let body: any HTTPExchangeBody

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The fields of the head as they have arrived.
    ///   - decompressed: The content codings that the exchange restores when they are the first; `nil` for all compressions.
    ///   - body: The body.
    package init(status: Int, headers: HTTPHeaders, decompressed: Set<String>?, body: any HTTPExchangeBody) {
        // Storages keep anything that somebody has given them for this field: `base64`, `UTF-8`, nothing, and S3's `aws-chunked`.
        let codings = headers[canonicalForm: "Content-Encoding"].map { $0.lowercased() }
        var compressions = codings.filter(Self.compressions.contains)
        let isDecompressed = codings.first.map { decompressed?.contains($0) ?? !compressions.isEmpty } ?? false
        if isDecompressed { compressions = decompressed == nil ? [] : Array(compressions.dropFirst()) }
        var headers = headers
        if isDecompressed {
            for name in Self.ofCompressedBytes { headers.remove(name: name) }
        }
        self.status = status
        self.headers = headers
        self.isDecompressed = isDecompressed
        compression = compressions.isEmpty ? nil : compressions.joined(separator: ", ")
        self.body = body
    }
}
