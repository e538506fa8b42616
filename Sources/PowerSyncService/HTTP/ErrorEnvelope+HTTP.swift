import Logging
import HTTPConnections
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncAuth

extension ErrorEnvelope {
    /// 413: the body is too long.
    static func bodyTooLarge(limit: Int) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .generic,
            status: 413,
            description: "Request body is too large",
            name: "ValidationError",
            details: "The limit is \(limit) bytes."
        )
    }

    /// 408: the body did not arrive in time.
    static func bodyTooSlow(limit: Duration) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .generic,
            status: 408,
            description: "Request body took too long",
            name: "ValidationError",
            details: "The limit is \(limit.components.seconds) seconds."
        )
    }

    /// 415: the body is not JSON.
    static func unsupportedMediaType(_ type: String?) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .unsupportedMediaType,
            description: "Unsupported Media Type\(type.map { ": \($0)" } ?? "")",
            name: "UnsupportedMediaType"
        )
    }

    /// 415: the body is compressed.
    static func unsupportedContentEncoding(_ encoding: String) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .unsupportedMediaType,
            status: 415,
            description: "Unsupported Content-Encoding: \(encoding)",
            name: "UnsupportedMediaType",
            details: "Bodies of requests are not compressed."
        )
    }

    /// 503: a file of the service is damaged or gone, so that writes could be lost.
    static func unhealthy(_ problem: String) -> ErrorEnvelope {
        ErrorEnvelope(code: .unavailable, status: 503, description: problem, name: "ServiceError")
    }

    /// 503: the process is about to end.
    static let shuttingDown = ErrorEnvelope(
        code: .unavailable,
        description: "Service temporarily unavailable",
        name: "ServiceError"
    )

    /// 500: no sync config has been replicated.
    static let noSyncConfig = ErrorEnvelope(
        code: .noSyncConfig,
        description: "No sync config available",
        name: "ServiceError"
    )

    /// The level of the log line: `error` when something is wrong with the service, `info` when it is the request.
    ///
    /// A service that shuts down, or has no sync config yet, is no error. A key set that cannot be fetched is one, though the
    /// client is told 401: no token can be checked.
    var logLevel: Logger.Level {
        if [.authenticationConfiguration, .keySetRequest].contains(code) { return .error }
        return httpStatus < 500 || [.shuttingDown, .noSyncConfig].contains(self) ? .info : .error
    }

    /// Any error as the client is told about it.
    init(_ error: any Error) {
        switch error {
        case let error as ErrorEnvelope:
            self = error
        case let error as AuthorizationError:
            self.init(code: error.code, description: error.description, name: "AuthorizationError")
        case let error as UserStreams.Overflow:
            self.init(
                code: .connectionLimit,
                description: "Maximum active concurrent connections limit has been reached",
                name: "ServiceError",
                details: "The limit of one user is \(error.limit)."
            )
        case let error as BucketLimitError:
            self.init(code: .bucketLimit, description: error.message, name: "ServiceError", details: error.details)
        case let error as SyncConfigDeploymentError:
            self.init(error)
        case let error as HTTPParserError:
            self.init(HTTPRefusal.notHTTP(error))
        case is OpenedSyncStream.TooSlow:
            self.init(
                code: .unavailable,
                description: "The stream could not begin in time",
                name: "ServiceError",
                details: "The storage does not answer, or is busy."
            )
        case let error as ManagedWriteCheckpointError:
            self.init(
                code: .generic,
                status: 400,
                description: error.description,
                name: "ValidationError",
                details: error.remedy
            )
        case is FileProblem:
            self = .unhealthy(Probes.Problem.files.rawValue)
        case let error as BucketStorageError where error.code == .noActiveStream:
            self = .noSyncConfig
        default:
            // Without details: the text of an unexpected error may hold SQL or the names of files. It is logged.
            self.init(
                code: .generic,
                status: 500,
                description: "Something went wrong",
                name: "InternalServerError",
                severity: .error
            )
        }
    }

    /// The response of a route that failed.
    var response: Response {
        var headers: HTTPFields = [.contentType: "application/json"]
        if let retryAfter { headers[.retryAfter] = retryAfter }
        return Response(
            status: HTTPResponse.Status(code: httpStatus),
            headers: headers,
            body: ResponseBody(byteBuffer: encodedJSON())
        )
    }

    /// How long a client should wait when there are too many requests, in seconds: places become free when others
    /// leave.
    static let retryDelay = "5"

    /// After how many seconds the same request may succeed, if waiting helps.
    var retryAfter: String? {
        [429, 503].contains(httpStatus) ? Self.retryDelay : nil
    }
}

extension Response {
    /// A response with a JSON object.
    init(status: HTTPResponse.Status = .ok, json object: JSONObject) {
        self.init(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: object.text))
        )
    }

    /// A successful response: `{"data": …}`.
    init(data: JSONObject) {
        self.init(json: ["data": .object(data)])
    }
}

extension LineQueue.End {
    /// The code of the error that ended the lines; `nil` when none did.
    var code: ErrorCode? {
        if case .failed(let error) = self { ErrorEnvelope(error).code } else { nil }
    }
}
