package import NIOHTTP1

/// The answer to an HTTP request.
package struct HTTPExchangeResponse {
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
    /// The body.
    package let body: any HTTPExchangeBody

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The fields of the head as they have arrived.
    ///   - decompressed: The content codings that the exchange restores; `nil` for all. A body of another one is as it has arrived.
    ///   - body: The body.
    package init(status: Int, headers: HTTPHeaders, decompressed: Set<String>?, body: any HTTPExchangeBody) {
        let coding = headers.first(name: "Content-Encoding") ?? "identity"
        isDecompressed = coding.lowercased() != "identity" && decompressed?.contains(coding) ?? true
        var headers = headers
        if isDecompressed {
            for name in Self.ofCompressedBytes { headers.remove(name: name) }
        }
        self.status = status
        self.headers = headers
        self.body = body
    }
}
