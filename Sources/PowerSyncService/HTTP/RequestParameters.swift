import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol

/// The parameters of a request: query string and JSON body together, the body wins (`wire-protocol.md` 2.1).
struct RequestParameters: Sendable {
    /// All parameters.
    ///
    /// Those of the query are strings.
    let members: JSONObject

    /// Reads the query, and for a POST the body.
    ///
    /// - Parameters:
    ///   - request: The request; its body is collected.
    ///   - bodyLimit: The longest body in bytes.
    /// - Throws: ``ErrorEnvelope`` with status 400, 413 or 415.
    init(_ request: inout Request, bodyLimit: Int) async throws {
        var members = JSONObject()
        for parameter in request.uri.queryParameters {
            members[String(parameter.key)] = .string(String(parameter.value))
        }
        if request.method == .post {
            for member in try await Self.body(of: &request, limit: bodyLimit).members {
                members[member.name] = member.value
            }
        }
        self.members = members
    }

    private static func body(of request: inout Request, limit: Int) async throws -> JSONObject {
        // Known before anything is read, unless the body is chunked.
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw ErrorEnvelope.bodyTooLarge(limit: limit)
        }
        let body: ByteBuffer
        do {
            body = try await request.collectBody(upTo: limit)
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw ErrorEnvelope.bodyTooLarge(limit: limit)
        }
        let contentType = request.headers[.contentType]
        let mediaType = (contentType?.split(separator: ";").first?.trimmingSpaces().lowercased()) ?? ""
        switch mediaType {
        case "application/json":
            guard body.readableBytes > 0 else {
                throw ErrorEnvelope.validationFailed(["the body is empty, but the content type is application/json"])
            }
            do {
                // An array or another value contributes nothing.
                guard case .object(let object) = try JSONValue(parsing: body) else { return JSONObject() }
                return object
            } catch {
                throw ErrorEnvelope.validationFailed(["the body is not valid JSON: \(error)"])
            }
        case "text/plain":
            return JSONObject()
        default:
            if body.readableBytes == 0 { return JSONObject() }
            throw ErrorEnvelope.unsupportedMediaType(contentType)
        }
    }

    /// A text parameter; `nil` when it is missing.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is not a text.
    func string(_ name: String) throws -> String? {
        switch members[name] {
        case nil: return nil
        case .string(let text): return text
        default: throw ErrorEnvelope.validationFailed(["\(name) must be a string"])
        }
    }

    /// A text parameter that must be there.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is missing or not a text.
    func requiredString(_ name: String) throws -> String {
        guard let text = try string(name) else { throw ErrorEnvelope.validationFailed(["\(name) is required"]) }
        return text
    }
}
