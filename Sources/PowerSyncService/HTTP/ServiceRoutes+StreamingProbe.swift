import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceLifecycle

/// `GET /sync/stream?probe=streaming`: two lines with a pause between them, for `powersync doctor`
/// (docs/operating.md "Through the public address").
///
/// It is on the path of the sync stream, because proxies treat paths differently, and its head is that of a stream. It
/// needs no token and tells nothing; few may run at the same time.
extension ServiceRoutes {
    /// The pause between the two lines.
    package static let probePause = Duration.seconds(1)

    /// Answers the probe; to other requests, the route does not exist.
    func probeStreaming(_ request: Request) async throws -> Response {
        guard request.uri.queryParameters["probe"] == "streaming" else { throw HTTPError(.notFound) }
        let slot = try await probeQueue.acquire()
        let clock = sessions.timing.clock
        var response = Response(status: .ok, headers: Self.streamHeaders(.ndjson))
        response.headers[.cacheControl] = "no-store"
        response.body = ResponseBody { writer in
            defer { slot.release() }
            try await writer.write(ByteBuffer(string: "{\"probe\":\"first\"}\n"))
            try await cancelWhenGracefulShutdown { try await clock.sleep(for: Self.probePause) }
            try await writer.write(ByteBuffer(string: "{\"probe\":\"last\"}\n"))
            try await writer.finish(nil)
        }
        return response
    }
}
