import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol

/// Lets web pages of every origin use the service, but not its dashboard, and only those of this machine its endpoints for development.
///
/// Hummingbird's own middleware adds headers only to requests that have an `Origin`, and answers 204 to any `OPTIONS`.
struct CrossOriginMiddleware: RouterMiddleware {
    typealias Context = ServiceRequestContext

    func handle(
        _ request: Request,
        context: ServiceRequestContext,
        next: @concurrent (Request, ServiceRequestContext) async throws -> Response
    ) async throws -> Response {
        if DashboardPage.owns(request.uri.path) { return try await next(request, context) }
        let pages = Self.allowedPages(for: request)
        var response =
            request.method == .options
            ? Self.preflight(request, areAllowed: pages != nil) : try await next(request, context)
        guard let pages else { return response }
        response.headers[.accessControlAllowOrigin] = pages
        response.headers[.accessControlExposeHeaders] = "Content-Type"
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
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowHeaders: "Content-Type, Authorization, User-Agent, X-User-Agent",
                .accessControlAllowMethods: "GET, HEAD, POST",
                .accessControlMaxAge: "3600",
                .contentLength: "0",
            ]
        )
    }
}
