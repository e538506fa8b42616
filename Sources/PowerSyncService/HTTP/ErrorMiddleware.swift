import HTTPTypes
import Hummingbird
import Logging
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

/// Gives every request an id and one log line, counts its answer, and turns errors into responses
/// (docs/protocol.md "Requests and responses").
///
/// Probes and what went well are logged at `debug`. A stream has no line here: its own lines say when it begins and
/// ends.
struct ErrorMiddleware: RouterMiddleware {
    typealias Context = ServiceRequestContext

    /// What Hummingbird puts into every line of a request; it says nothing more than ours.
    private static let otherRequestID = "hb.request.id"

    /// Counts answers and refused tokens.
    var metrics = ServiceMetrics.shared
    /// Measures the durations of requests.
    var clock: any Clock<Duration> = ContinuousClock()
    /// Makes ids of requests.
    let makeRequestID: @Sendable () -> String

    func handle(
        _ request: Request,
        context: ServiceRequestContext,
        next: @concurrent (Request, ServiceRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.logger[metadataKey: LogKey.requestID] = "h/\(makeRequestID())"
        context.logger[metadataKey: Self.otherRequestID] = nil
        let stopwatch = Stopwatch(clock)
        func log(_ response: Response, _ level: Logger.Level, _ message: Logger.Message, _ more: Logger.Metadata = [:])
        {
            let metadata: Logger.Metadata = [
                LogKey.method: "\(request.method)", LogKey.path: "\(StreamClient.shown(request.uri.path))",
                LogKey.status: .stringConvertible(response.status.code),
                LogKey.duration: .stringConvertible(stopwatch.elapsed.loggedMilliseconds),
            ]
            context.logger.log(level: level, message, metadata: metadata.merging(more) { $1 })
        }
        do {
            let response = try await next(request, context)
            metrics.didAnswer(status: response.status.code)
            // A stream logs its own beginning and end.
            guard response.body.contentLength != nil else { return response }
            let isExpected = response.status.code < 400 || request.uri.path.hasPrefix("/probes/")
            log(response, isExpected ? .debug : .info, "Request complete")
            return response
        } catch let error as CancellationError {
            throw error
        } catch let failure as ConcurrencyQueue.Failure {
            // An empty body, not the envelope.
            let response = Response(status: .tooManyRequests, headers: [.retryAfter: ErrorEnvelope.retryDelay])
            metrics.didAnswer(status: response.status.code)
            log(
                response,
                .warning,
                "Request refused, queue overflow",
                [LogKey.queueOverflow: .stringConvertible(true), LogKey.reason: "\(failure)"]
            )
            return response
        } catch let error as any HTTPResponseError where error.status == .notFound {
            let envelope = ErrorEnvelope.routeNotFound(method: request.method.rawValue, path: request.uri.path)
            let response = Self.response(envelope, to: request)
            metrics.didAnswer(status: response.status.code)
            log(response, .info, "Request complete")
            return response
        } catch {
            let envelope = ErrorEnvelope(error)
            let response = Self.response(envelope, to: request)
            metrics.didAnswer(status: response.status.code)
            if let error = error as? AuthorizationError { metrics.didRefuseToken(error.code) }
            log(response, envelope.logLevel, "Request failed", Self.metadata(of: error, envelope))
            return response
        }
    }

    private static func response(_ envelope: ErrorEnvelope, to request: Request) -> Response {
        var response = envelope.response
        // A client would take the body for the next response.
        if request.method == .head { response.body = ResponseBody() }
        return response
    }

    private static func metadata(of error: any Error, _ envelope: ErrorEnvelope) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            LogKey.code: "\(envelope.code)", LogKey.description: "\(envelope.description)",
        ]
        if let error = error as? AuthorizationError {
            if let details = error.logDetails { metadata[LogKey.details] = "\(details)" }
        } else if !(error is ErrorEnvelope) {
            metadata.add(error)
        }
        return metadata
    }
}
