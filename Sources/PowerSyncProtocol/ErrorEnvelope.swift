package import NIOCore

/// The body of an HTTP response that reports an error (docs/protocol.md "Requests and responses").
///
/// ```json
/// {"error":{"code":"PSYNC_S2106","status":401,"description":"Authentication required","name":"AuthorizationError"}}
/// ```
package struct ErrorEnvelope: Error, Sendable, Hashable {
    /// How bad the error is.
    package enum Severity: String, Sendable {
        case info, warning, error
    }

    /// What went wrong, for programs.
    package var code: ErrorCode
    /// The HTTP status.
    ///
    /// Absent when the error does not define one, which means 500.
    package var status: Int?
    /// What went wrong, for people.
    package var description: String
    /// The class of the error; informational.
    package var name: String?
    /// More lines for people, or a JSON text.
    package var details: String?
    /// How bad the error is.
    package var severity: Severity?

    /// Creates an envelope.
    ///
    /// Without a status of its own, the error has the one of its code.
    package init(
        code: ErrorCode,
        status: Int? = nil,
        description: String,
        name: String? = nil,
        details: String? = nil,
        severity: Severity? = nil
    ) {
        self.code = code
        self.status = status ?? code.httpStatus
        self.description = description
        self.name = name
        self.details = details
        self.severity = severity
    }

    /// The status of the HTTP response.
    package var httpStatus: Int { status ?? 500 }

    /// The form for logs and RSocket: `[CODE] description`, and the details indented on a line of their own.
    package var text: String {
        "[\(code)] \(description)" + (details.map { "\n  \($0)" } ?? "")
    }
}

// MARK: Standard errors

extension ErrorEnvelope {
    /// Nothing answers to this method and path.
    package static func routeNotFound(method: String, path: String) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .routeNotFound,
            description: "The path does not exist on this server",
            name: "RouteNotFound",
            details: "The path \(method) \"\(path)\" does not exist on this server",
            severity: .info
        )
    }

    /// The parameters of a request are invalid, for the reasons given.
    package static func validationFailed(_ messages: [String]) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .generic,
            status: 400,
            description: "Validation failed",
            name: "ValidationError",
            details: ExactJSON.array(messages.map(ExactJSON.string)).text
        )
    }

    /// Something unexpected happened.
    package static func internalError(details: String) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .generic,
            status: 500,
            description: "Something went wrong",
            name: "InternalServerError",
            details: details,
            severity: .error
        )
    }
}

// MARK: JSON

extension ErrorEnvelope {
    /// The body of the response.
    package func encodedJSON() -> ByteBuffer {
        var error: JSONObject = ["code": .string(code.rawValue)]
        error["status"] = status.map { .integer(Int64($0)) }
        error["description"] = .string(description)
        error["name"] = name.map(ExactJSON.string)
        error["details"] = details.map(ExactJSON.string)
        error["severity"] = severity.map { .string($0.rawValue) }
        var buffer = ByteBuffer()
        ExactJSON.object(["error": .object(error)]).write(to: &buffer)
        return buffer
    }

    /// Reads the body of a response.
    ///
    /// - Returns: `nil` when the body is something else than an error with a code, the page of a proxy for example.
    ///   Members of the wrong type are treated as missing.
    package init?(json: ByteBuffer) {
        guard
            let body = try? JSONObject(parsing: json),
            case .object(let error) = body["error"],
            case .string(let code) = error["code"]
        else { return nil }
        self.code = ErrorCode(rawValue: code)
        if case .integer(let status) = error["status"] { self.status = Int(exactly: status) }
        self.description = error.text(of: "description") ?? ""
        self.name = error.text(of: "name")
        self.details = error.text(of: "details")
        self.severity = error.text(of: "severity").flatMap(Severity.init)
    }
}

extension JSONObject {
    fileprivate func text(of name: String) -> String? {
        guard case .string(let text) = self[name] else { return nil }
        return text
    }
}
