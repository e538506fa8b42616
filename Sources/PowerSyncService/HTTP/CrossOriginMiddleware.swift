import HTTPTypes
import Hummingbird
import NIOCore

/// Lets web pages of every origin use the service, but not its dashboard.
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
        var response = request.method == .options ? Self.preflight(request) : try await next(request, context)
        response.headers[.accessControlAllowOrigin] = "*"
        response.headers[.accessControlExposeHeaders] = "Content-Type"
        return response
    }

    private static func preflight(_ request: Request) -> Response {
        guard request.headers.contains(.origin), request.headers.contains(.accessControlRequestMethod) else {
            return Response(
                status: .badRequest,
                headers: [.contentType: "text/plain"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "Invalid Preflight Request"))
            )
        }
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
