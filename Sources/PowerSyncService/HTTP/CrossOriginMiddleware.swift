import HTTPConnections
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol

/// Lets web pages of every origin use the service, but not its dashboard, and only those of this machine its endpoints
/// for development.
///
/// Hummingbird's own middleware adds headers only to requests that have an `Origin`, and answers 204 to any `OPTIONS`.
struct CrossOriginMiddleware: RouterMiddleware {
    typealias Context = ServiceRequestContext

    /// What pages may read of an answer, beside its body.
    static let exposedFields = "Content-Type, Retry-After"
    /// What pages may always send.
    private static let allowedFields: [HTTPField.Name] = [.contentType, .authorization, .userAgent, .xUserAgent]

    func handle(
        _ request: Request,
        context: ServiceRequestContext,
        next: @concurrent (Request, ServiceRequestContext) async throws -> Response
    ) async throws -> Response {
        if DashboardRoutes.owns(request.uri.path) { return try await next(request, context) }
        let pages = Self.allowedPages(for: request)
        var response =
            request.method == .options
            ? Self.preflight(request, areAllowed: pages != nil) : try await next(request, context)
        guard let pages else { return response }
        response.headers[.accessControlAllowOrigin] = pages
        response.headers[.accessControlExposeHeaders] = Self.exposedFields
        if pages != "*" { response.headers[.vary] = "Origin" }
        return response
    }

    /// The origins whose pages may read the answer; `nil` for none.
    private static func allowedPages(for request: Request) -> String? {
        guard DevelopmentAccess.owns(request.uri.path) else { return "*" }
        guard let origin = request.headers[.origin], DevelopmentAccess.isLocal(origin: origin) else { return nil }
        return origin
    }

    private static func preflight(_ request: Request, areAllowed: Bool) -> Response {
        guard request.headers.contains(.origin), request.headers.contains(.accessControlRequestMethod) else {
            return Response(
                status: .badRequest,
                headers: [.contentType: "text/plain"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "Invalid Preflight Request"))
            )
        }
        guard areAllowed else { return ErrorEnvelope.foreignOrigin.response }
        var response = Response(
            status: .noContent,
            headers: [
                .accessControlAllowHeaders: allowedFields(for: request),
                .accessControlAllowMethods: "GET, HEAD, POST",
                .accessControlMaxAge: "3600",
                .contentLength: "0",
            ]
        )
        // A browser asks before a public page may reach a service in a private network, or on this machine.
        if request.headers[.accessControlRequestPrivateNetwork]?.lowercased() == "true" {
            response.headers[.accessControlAllowPrivateNetwork] = "true"
        }
        return response
    }

    /// The fields that a request may have: those that it asks for, too, such as those of tracing.
    ///
    /// No field that a page can set gives it anything: cookies are not read, and the user is that of a token that the
    /// page has.
    private static func allowedFields(for request: Request) -> String {
        let asked = request.headers[.accessControlRequestHeaders]?.split(separator: ",") ?? []
        let others = asked.compactMap { HTTPField.Name(String($0.trimmingSpaces())) }
        var names: [HTTPField.Name] = []
        for name in allowedFields + others where !names.contains(name) { names.append(name) }
        return names.map(\.rawName).joined(separator: ", ")
    }
}

extension HTTPField.Name {
    /// The user agent of clients in browsers, which cannot set `User-Agent`.
    // swift-format-ignore: NeverForceUnwrap
    static let xUserAgent = HTTPField.Name("X-User-Agent")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let accessControlRequestPrivateNetwork =
        HTTPField.Name("Access-Control-Request-Private-Network")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let accessControlAllowPrivateNetwork =
        HTTPField.Name("Access-Control-Allow-Private-Network")!
}
