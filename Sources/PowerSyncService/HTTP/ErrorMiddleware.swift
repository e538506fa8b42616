import HTTPTypes
import Hummingbird
import Logging
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

/// Gives every request an id and a log entry, and turns errors into responses
/// (docs/protocol.md "Requests and responses").
struct ErrorMiddleware: RouterMiddleware {
    typealias Context = ServiceRequestContext

    /// Makes ids of requests.
    let makeRequestID: @Sendable () -> String

    func handle(
        _ request: Request,
        context: ServiceRequestContext,
        next: @concurrent (Request, ServiceRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.logger[metadataKey: LogKey.requestID] = "h/\(makeRequestID())"
        let start = ContinuousClock.now
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as CancellationError {
            throw error
        } catch let failure as ConcurrencyQueue.Failure {
            context.logger.warning(
                "Request refused, queue overflow",
                metadata: [
                    LogKey.queueOverflow: .stringConvertible(true), LogKey.status: .stringConvertible(429),
                    LogKey.method: "\(request.method)", LogKey.path: "\(StreamClient.shown(request.uri.path))",
                    LogKey.reason: "\(failure)",
                ]
            )
            // An empty body, not the envelope.
            return Response(status: .tooManyRequests, headers: [.retryAfter: ErrorEnvelope.retryDelay])
        } catch {
            response = Self.response(to: error, request: request, logger: context.logger)
            // A client would take it for the next response.
            if request.method == .head { response.body = ResponseBody() }
        }
        // What went well is said by who did it, if at all: a stream has a line for its beginning and its end.
        context.logger.log(
            level: response.status.code < 400 ? .debug : .info,
            "Request complete",
            metadata: [
                LogKey.method: "\(request.method)", LogKey.path: "\(StreamClient.shown(request.uri.path))",
                LogKey.status: .stringConvertible(response.status.code),
                LogKey.duration: .stringConvertible((ContinuousClock.now - start).loggedMilliseconds),
            ]
        )
        return response
    }

    private static func response(to error: any Error, request: Request, logger: Logger) -> Response {
        if let error = error as? any HTTPResponseError, error.status == .notFound {
            return ErrorEnvelope.routeNotFound(method: request.method.rawValue, path: request.uri.path).response
        }
        let envelope = ErrorEnvelope(error)
        var metadata: Logger.Metadata = [
            LogKey.code: "\(envelope.code)", LogKey.status: .stringConvertible(envelope.httpStatus),
            LogKey.description: "\(envelope.description)",
        ]
        if let error = error as? AuthorizationError {
            metadata[LogKey.details] = "\(error.logDetails ?? "")"
        } else if !(error is ErrorEnvelope) {
            metadata.add(error)
        }
        logger.log(level: envelope.logLevel, "Request failed", metadata: metadata)
        return envelope.response
    }
}
