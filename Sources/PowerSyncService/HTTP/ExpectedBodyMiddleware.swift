import HTTPConnections
import HTTPTypes
import Hummingbird
import NIOCore

/// Tells clients that keep their body until somebody wants it (`Expect: 100-continue`, RFC 9110, 10.1.1) that somebody does.
///
/// They are told when a route begins to read, so that a request that is refused without its body never has one. Other expectations have
/// no effect, which the RFC allows.
struct ExpectedBodyMiddleware: RouterMiddleware {
    typealias Context = ServiceRequestContext

    func handle(
        _ request: Request,
        context: ServiceRequestContext,
        next: @concurrent (Request, ServiceRequestContext) async throws -> Response
    ) async throws -> Response {
        let expectations = request.headers[.expect]?.split(separator: ",") ?? []
        guard expectations.contains(where: { $0.trimmingSpaces().lowercased() == "100-continue" }) else {
            return try await next(request, context)
        }
        var request = request
        request.body = RequestBody(asyncSequence: ExpectedBody(body: request.body, channel: context.channel))
        return try await next(request, context)
    }

    /// A body that is asked for when its first part is.
    private struct ExpectedBody: AsyncSequence, Sendable {
        let body: RequestBody
        let channel: any Channel

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var parts: RequestBody.AsyncIterator
            /// `nil` when the client has been told.
            fileprivate var channel: (any Channel)?

            @concurrent
            mutating func next() async throws -> ByteBuffer? {
                if let channel {
                    channel.triggerUserOutboundEvent(RequestBodyDemand.now, promise: nil)
                    self.channel = nil
                }
                return try await parts.next()
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(parts: body.makeAsyncIterator(), channel: channel)
        }
    }
}
