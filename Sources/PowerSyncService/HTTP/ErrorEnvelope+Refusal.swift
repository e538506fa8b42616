import HTTPConnections
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncServiceCore

extension ErrorEnvelope {
    /// The error of a connection that answers by itself.
    init(_ refusal: HTTPRefusal) {
        let name =
            switch refusal {
            case .brokenHandshake: "WebSocketHandshake"
            case .tooManyConnections: "ServiceError"
            case .notHTTP, .missingHost, .repeatedHost, .brokenHost, .headTooSlow, .headTooLarge: "ValidationError"
            }
        self.init(
            code: refusal == .tooManyConnections ? .connectionLimit : .generic,
            status: refusal.status,
            description: refusal.description,
            name: name,
            details: refusal.details
        )
    }
}

extension HTTPRefusal {
    /// Makes the answer of a connection: an ``ErrorEnvelope`` that pages of other origins may read.
    @Sendable
    static func envelope(_ refusal: HTTPRefusal) -> Answer {
        let error = ErrorEnvelope(refusal)
        var fields: HTTPHeaders = [
            "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": CrossOriginMiddleware.exposedFields,
        ]
        if let retryAfter = error.retryAfter { fields.add(name: "Retry-After", value: retryAfter) }
        return Answer(contentType: "application/json", body: error.encodedJSON(), fields: fields)
    }

    /// Makes answers of connections, and counts them: no route sees what is no request.
    ///
    /// - Parameter metrics: Counts them by their status.
    /// - Returns: What makes and counts the answer to a refusal.
    static func envelopes(countedBy metrics: ServiceMetrics) -> @Sendable (HTTPRefusal) -> Answer {
        { refusal in
            metrics.didAnswer(status: refusal.status)
            return envelope(refusal)
        }
    }
}
