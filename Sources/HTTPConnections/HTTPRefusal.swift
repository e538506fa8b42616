package import NIOCore
package import NIOHTTP1

/// The reasons for which a connection answers a request by itself, without a route, and is closed after that answer.
package enum HTTPRefusal: Hashable, Sendable {
    /// 400: a request for a WebSocket is not as it should be.
    case brokenHandshake(reason: String)
    /// 400: bytes that are no request.
    case notHTTP(HTTPParserError)
    /// 400: a request does not say which host it is for, which HTTP/1.1 demands.
    case missingHost
    /// 400: a request says twice which host it is for, so that two readers could understand two different hosts.
    case repeatedHost
    /// 400: the `Host` of a request, or the host in its target, is none.
    case brokenHost
    /// 408: the head of a request has not arrived in time.
    case headTooSlow
    /// 431: the head of a request is over the limit.
    case headTooLarge
    /// 503: as many connections are served as may be.
    case tooManyConnections

    /// The body of the answer, and further fields of its head.
    package struct Answer: Sendable {
        /// The media type of the body.
        package var contentType: String
        /// The body.
        package var body: ByteBuffer
        /// More fields of the head.
        package var fields: HTTPHeaders

        /// Creates an answer.
        package init(contentType: String, body: ByteBuffer, fields: HTTPHeaders = [:]) {
            self.contentType = contentType
            self.body = body
            self.fields = fields
        }
    }

    /// The status of the answer.
    package var status: Int {
        switch self {
        case .brokenHandshake, .notHTTP, .missingHost, .repeatedHost, .brokenHost: 400
        case .headTooSlow: 408
        case .headTooLarge: 431
        case .tooManyConnections: 503
        }
    }

    /// The problem in words.
    package var description: String {
        switch self {
        case .brokenHandshake: "The WebSocket handshake is not valid"
        case .notHTTP: "The request cannot be read"
        case .missingHost: "The request has no Host field"
        case .repeatedHost: "The request has more than one Host field"
        case .brokenHost: "The host of the request is not valid"
        case .headTooSlow: "The request took too long"
        case .headTooLarge: "The header fields of the request are too large"
        case .tooManyConnections: "Maximum active concurrent connections limit has been reached"
        }
    }

    /// Details of the problem; `nil` when the description says everything.
    package var details: String? {
        switch self {
        case .brokenHandshake(let reason): reason
        case .notHTTP(let error): "This port expects HTTP/1.1 without TLS: \(error)."
        case .brokenHost:
            "Host, and the target of a request that names a host, have a name or an address, and perhaps a port."
        case .missingHost, .repeatedHost, .headTooSlow, .headTooLarge, .tooManyConnections: nil
        }
    }

    /// An answer in plain text: description and details.
    package var plainText: Answer {
        let text = description + (details.map { ": \($0)" } ?? "") + "\n"
        return Answer(contentType: "text/plain; charset=utf-8", body: ByteBuffer(string: text))
    }

    /// The response with an answer, the last one of its connection.
    func response(_ answer: Answer) -> [HTTPServerResponsePart] {
        var headers: HTTPHeaders = [
            "Content-Type": answer.contentType, "Content-Length": "\(answer.body.readableBytes)",
            "Connection": "close",
        ]
        headers.add(contentsOf: answer.fields)
        // Tells a client that has asked for another version which one there is.
        if case .brokenHandshake = self { headers.add(name: "Sec-WebSocket-Version", value: "13") }
        let head = HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: status),
            headers: headers
        )
        return [.head(head), .body(.byteBuffer(answer.body)), .end(nil)]
    }
}
