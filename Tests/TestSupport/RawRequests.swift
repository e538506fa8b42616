/// Requests as bytes.
package enum RawRequests {
    /// The key of the example in RFC 6455, 1.3, and the answer to it.
    package static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    package static let accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    /// A request without a body.
    package static func request(_ line: String, _ fields: [String] = []) -> String {
        ([line + " HTTP/1.1", "Host: localhost"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// A request that is answered at once with 200 and a body that has `touched_at`.
    package static let probe = request("GET /probes/liveness")

    /// The fields of a WebSocket handshake; without those that are `nil`.
    package static func handshake(
        connection: String? = "Upgrade",
        upgrade: String? = "websocket",
        version: String? = "13",
        key: String? = RawRequests.key
    ) -> [String] {
        [
            connection.map { "Connection: \($0)" }, upgrade.map { "Upgrade: \($0)" },
            version.map { "Sec-WebSocket-Version: \($0)" }, key.map { "Sec-WebSocket-Key: \($0)" },
        ]
        .compactMap { $0 }
    }

    /// The status codes of answers, one after the other.
    package static func statuses(of answers: String) -> [String] {
        answers.matches(of: #/HTTP/1\.1 (\d{3}) /#).map { String($0.1) }
    }
}

extension RawConnection {
    /// Sends a request and reads its answer, which must be that of the probe.
    package mutating func probe() async throws -> Bool {
        try await send(RawRequests.probe)
        return try await text(until: "}").hasPrefix("HTTP/1.1 200 OK")
    }
}
