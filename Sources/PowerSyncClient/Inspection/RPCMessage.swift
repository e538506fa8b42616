package import NIOCore
package import PowerSyncProtocol

/// A request of JSON-RPC 2.0, or a notification, which has no id and gets no answer.
///
/// ```
/// {"jsonrpc":"2.0","id":1,"method":"query","params":{"sql":"SELECT 1"}}
/// ```
package struct RPCRequest: Sendable {
    /// A text or a number, which the answer repeats; `nil` for a notification.
    package let id: ExactJSON?
    /// What is asked for.
    package let method: String
    /// The parameters by name; none when the request has none.
    package let parameters: JSONObject

    /// Creates a request.
    package init(id: ExactJSON?, method: String, parameters: JSONObject = [:]) {
        self.id = id
        self.method = method
        self.parameters = parameters
    }

    /// Reads a request.
    ///
    /// - Parameter line: JSON text.
    /// - Throws: ``RPCError``, with the id as far as there is one.
    package init(parsing line: ByteBuffer) throws(RPCError) {
        let value: ExactJSON
        do {
            value = try ExactJSON(parsing: line)
        } catch {
            throw RPCError(.parseError, "This is not JSON: \(error)")
        }
        guard case .object(let object) = value else {
            throw RPCError(.invalidRequest, "A request is a JSON object; several in an array are not taken")
        }
        let id = object["id"]
        switch id {
        case nil, .string, .integer, .double: break
        case .null, .bool, .array, .object: throw RPCError(.invalidRequest, "The id has to be a text or a number")
        }
        guard object["jsonrpc"] == "2.0", case .string(let method)? = object["method"] else {
            throw RPCError(.invalidRequest, #"A request has "jsonrpc":"2.0" and a method"#, id: id ?? .null)
        }
        switch object["params"] {
        case nil: parameters = [:]
        case .object(let object)?: parameters = object
        default: throw RPCError(.invalidParameters, "The parameters have to be an object", id: id ?? .null)
        }
        self.id = id
        self.method = method
    }

    /// The request as JSON text, without a line end.
    package var text: String {
        var object: JSONObject = ["jsonrpc": "2.0"]
        object["id"] = id
        object["method"] = .string(method)
        object["params"] = .object(parameters)
        return object.text
    }

    /// A successful answer as JSON text, without a line end.
    ///
    /// - Parameters:
    ///   - id: That of the request.
    ///   - result: What the answer says.
    /// - Returns: The text.
    package static func answer(to id: ExactJSON, _ result: JSONObject) -> String {
        (["jsonrpc": "2.0", "id": id, "result": .object(result)] as JSONObject).text
    }
}

/// An error that answers a request of JSON-RPC.
///
/// ```
/// {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"sql is missing"}}
/// ```
package struct RPCError: Error, Sendable, Equatable {
    /// The kinds of errors; those up to -32600 are of JSON-RPC.
    package enum Code: Int64, Sendable {
        /// The line is not JSON.
        case parseError = -32700
        /// The JSON is no request.
        case invalidRequest = -32600
        /// There is no such method.
        case noSuchMethod = -32601
        /// A parameter is missing, unknown, or of another type.
        case invalidParameters = -32602
        /// What was asked for was tried, and failed.
        case failed = -32000
        /// There are too many connections, or a line is too long: the connection ends.
        case limitReached = -32001
    }

    /// What kind of error it is.
    package let code: Code
    /// A sentence for people.
    package let message: String
    /// The id of the request; null when it is not known.
    package let id: ExactJSON

    /// Creates an error.
    package init(_ code: Code, _ message: String, id: ExactJSON = .null) {
        self.code = code
        self.message = message
        self.id = id
    }

    /// The same error as answer to a request.
    package func answering(_ id: ExactJSON) -> RPCError { RPCError(code, message, id: id) }

    /// The answer as JSON text, without a line end.
    package var text: String {
        let error: JSONObject = ["code": .integer(code.rawValue), "message": .string(message)]
        return (["jsonrpc": "2.0", "id": id, "error": .object(error)] as JSONObject).text
    }
}

extension RPCError: CustomStringConvertible {
    /// The sentence.
    package var description: String { message }
}
