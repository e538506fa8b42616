import HTTPConnections
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceLifecycle

/// The parameters of a request: query string and JSON body together, the body wins.
struct RequestParameters: Sendable {
    /// The time limit of the body of a request: 60 s.
    ///
    /// The request occupies a place in its queue meanwhile.
    static let bodyTimeLimit = Duration.seconds(60)
    /// The same for a request without a token, or for a write checkpoint: 10 s.
    static let strangerBodyTimeLimit = Duration.seconds(10)

    /// All parameters.
    ///
    /// Those of the query are strings.
    let members: JSONObject
    /// The body as it came.
    let body: ByteBuffer

    /// Reads the query, and for a POST the body.
    ///
    /// - Parameters:
    ///   - request: The request; its body is collected.
    ///   - bodyLimit: The longest body in bytes.
    ///   - timeLimit: The time limit of the body.
    ///   - clock: Measures the time limit.
    ///   - halfPairs: Where the body may have halves of surrogate pairs.
    /// - Throws: ``ErrorEnvelope`` with status 400, 408, 413 or 415.
    init(
        _ request: inout Request,
        bodyLimit: Int,
        timeLimit: Duration,
        clock: any Clock<Duration>,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) async throws {
        var members = JSONObject()
        members.merge(
            request.uri.queryParameters.map {
                JSONObject.Member(name: String($0.key), value: .string(String($0.value)))
            }
        )
        if request.method == .post {
            let body = try await Self.rawBody(of: &request, limit: bodyLimit, timeLimit, clock)
            members.merge(try Self.object(body, of: request, halfPairs).members)
            self.body = body
        } else {
            body = ByteBuffer()
        }
        self.members = members
    }

    /// The media type of a body, in lower case and without parameters; empty when there is none.
    static func mediaType(of request: Request) -> String {
        request.headers[.contentType]?.split(separator: ";").first?.trimmingSpaces().lowercased() ?? ""
    }

    /// Reads the body as it is.
    ///
    /// - Parameters:
    ///   - request: The request; its body is collected.
    ///   - limit: The longest body in bytes.
    ///   - timeLimit: The time limit of the body.
    ///   - clock: Measures the time limit.
    /// - Returns: Its bytes.
    /// - Throws: ``ErrorEnvelope`` with status 408, 413 or 415.
    static func rawBody(
        of request: inout Request,
        limit: Int,
        _ timeLimit: Duration,
        _ clock: any Clock<Duration>
    ) async throws -> ByteBuffer {
        let encoding = request.headers[.contentEncoding] ?? ""
        guard
            encoding.split(separator: ",").allSatisfy({ ["", "identity"].contains($0.trimmingSpaces().lowercased()) })
        else { throw ErrorEnvelope.unsupportedContentEncoding(encoding) }
        // Known before anything is read, unless the body is chunked.
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw ErrorEnvelope.bodyTooLarge(limit: limit)
        }
        let body: ByteBuffer
        do {
            (request, body) = try await collectBody(of: request, limit: limit, timeLimit, clock)
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            throw ErrorEnvelope.bodyTooLarge(limit: limit)
        }
        return body
    }

    private static func object(
        _ body: ByteBuffer,
        of request: Request,
        _ halfPairs: JSONScanner.HalfPairs
    ) throws -> JSONObject {
        switch mediaType(of: request) {
        case "application/json":
            guard body.readableBytes > 0 else {
                throw ErrorEnvelope.validationFailed(["the body is empty, but the content type is application/json"])
            }
            do {
                // An array or another value contributes nothing.
                let value = try ExactJSON(parsing: body, hugeNumbers: .infinite, halfPairs: halfPairs)
                guard case .object(let object) = value else { return JSONObject() }
                return object
            } catch {
                throw ErrorEnvelope.validationFailed(["the body is not valid JSON: \(error)"])
            }
        case "text/plain":
            return JSONObject()
        default:
            if body.readableBytes == 0 { return JSONObject() }
            throw ErrorEnvelope.unsupportedMediaType(request.headers[.contentType])
        }
    }

    /// Reads the whole body in the time that it may take.
    private static func collectBody(
        of request: Request,
        limit: Int,
        _ timeLimit: Duration,
        _ clock: any Clock<Duration>
    ) async throws -> (Request, ByteBuffer) {
        try await withTimeout(timeLimit, clock: clock, throwing: ErrorEnvelope.bodyTooSlow(limit: timeLimit)) {
            try await firstOf {
                var request = request
                let body = try await request.collectBody(upTo: limit)
                return (request, body)
            } or: {
                // The process does not end before its requests do.
                try await gracefulShutdown()
                throw ErrorEnvelope.shuttingDown
            }
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
