import Crypto
import Foundation
import NIOHTTP1

/// Reads the WebSocket handshake of a request (RFC 6455, 4.2.1).
///
/// | the request | what it gets |
/// | --- | --- |
/// | GET over HTTP/1.1 with `Connection: upgrade`, `Upgrade: websocket`, key and version 13 | 101 |
/// | the same with a key or a version that is missing or wrong, or with a body | 400, and what is wrong |
/// | anything else: another method or protocol, no `Connection: upgrade`, HTTP/1.0 | the answer of its route |
enum WebSocketHandshake: Equatable {
    /// It asks for something else, or for a protocol that the server does not speak, which is ignored (RFC 9110, 7.8).
    case none
    /// It is complete.
    case complete(Opening)
    /// It asks for a WebSocket, but not as it should.
    case broken(reason: String)

    /// The values of the request that the answer depends on.
    struct Opening: Equatable {
        /// The client's nonce, in Base64.
        var key: String
        /// The extensions that the client offers.
        var extensions: String
    }

    /// Reads the head of a request.
    init(_ head: HTTPRequestHead) {
        guard head.method == .GET, head.version == .http1_1,
            head.headers.hasToken("upgrade", in: "Connection"), head.headers.hasToken("websocket", in: "Upgrade")
        else {
            self = .none
            return
        }
        let keys = head.headers["Sec-WebSocket-Key"]
        let versions = head.headers["Sec-WebSocket-Version"]
        let hasBody =
            head.headers.contains(name: "Transfer-Encoding")
            || head.headers["Content-Length"].contains { $0 != "0" }
        if versions != ["13"] {
            self = .broken(reason: "Sec-WebSocket-Version must be 13.")
        } else if keys.count != 1 || keys.first.flatMap({ Data(base64Encoded: $0) })?.count != 16 {
            self = .broken(reason: "Sec-WebSocket-Key must be 16 bytes in Base64.")
        } else if hasBody {
            self = .broken(reason: "The request must not have a body.")
        } else {
            let extensions = head.headers["Sec-WebSocket-Extensions"].joined(separator: ",")
            self = .complete(Opening(key: keys[0], extensions: extensions))
        }
    }

    /// The head of the answer to a complete handshake.
    ///
    /// - Parameters:
    ///   - opening: What the client has said.
    ///   - extensions: The extensions that were agreed on; `nil` for none.
    /// - Returns: A head with status 101.
    static func answer(to opening: Opening, extensions: String?) -> HTTPResponseHead {
        let nonce = Data((opening.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var headers: HTTPHeaders = [
            "Connection": "upgrade", "Upgrade": "websocket",
            "Sec-WebSocket-Accept": Data(Insecure.SHA1.hash(data: nonce)).base64EncodedString(),
        ]
        if let extensions { headers.add(name: "Sec-WebSocket-Extensions", value: extensions) }
        return HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
    }
}

extension HTTPHeaders {
    /// Whether a field that is a list of names has this one.
    fileprivate func hasToken(_ token: String, in field: String) -> Bool {
        self[canonicalForm: field].contains { $0.lowercased() == token }
    }
}
