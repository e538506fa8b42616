import Foundation
import HTTPTypes
import Hummingbird
import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth

/// All routes of the service, with what they share.
///
/// A request passes its queue (429), the token (401), its parameters (400, 413, 415), and then the handler. The token
/// comes before the body, so that nothing is read from strangers.
package struct ServiceRoutes: Sendable {
    /// The longest body of `POST /dev/write`, in bytes: 16 MiB.
    static let writeBodyLimit = 16 * 1024 * 1024
    /// The longest body of other requests, in bytes: 1 MiB.
    ///
    /// `POST /sync/stream` grows with the number of buckets, of which 1,000 take about a tenth.
    static let bodyLimit = 1024 * 1024
    /// The longest body of a request without a token, or for a write checkpoint, in bytes: 64 KiB.
    static let strangerBodyLimit = 64 * 1024

    /// Checks tokens.
    var tokens: TokenVerifier
    /// The environment of all sync sessions.
    var sessions: SyncSession.Environment
    /// Records write checkpoints.
    var writeCheckpoints: WriteCheckpointIssuer
    /// Answers health checks.
    var probes: Probes
    /// Looks at the database files; `nil` when there are none.
    var files: DataFileWatch?
    /// Which health checks exist.
    var probeOptions = ProbeOptions()
    /// The source, if rows may be written through `POST /dev/write`.
    var writableSource: (any WritableSource)?
    /// Whether columns that are written through it and that a table lacks are added to the table.
    var addsColumns = false
    /// Signs tokens, if there is `POST /dev/token`.
    var tokenSigner: SyncTokenSigner?
    /// The check of requests to these two endpoints.
    var developmentAccess = DevelopmentAccess()
    /// The routes of the admin API.
    var admin: AdminRoutes?
    /// The dashboard, if it is switched on.
    var dashboard: DashboardRoutes?
    /// The formats that streams may have.
    var formats = ServiceConfiguration.ResponseFormats.all
    /// The semaphore of sync streams over HTTP.
    var streamQueue: ConcurrencyQueue
    /// The semaphore of requests for write checkpoints that have not come in completely.
    var checkpointArrivals = ConcurrencyQueue(maximumRunning: 200, maximumWaiting: 0)
    /// Limits them per user, so that one user does not take all slots: a body may take its time.
    var checkpointArrivalsOfUsers = UserStreams(limit: 100)
    /// The semaphore of write checkpoints.
    var checkpointQueue = ConcurrencyQueue(maximumRunning: 100, maximumWaiting: 100)
    /// The semaphore of the streaming probe, which needs no token.
    var probeQueue = ConcurrencyQueue(maximumRunning: 4, maximumWaiting: 0)
    /// The semaphore of all other requests.
    var apiQueue = ConcurrencyQueue(maximumRunning: 10, maximumWaiting: 20)

    /// The router, with everything that all requests pass.
    func makeRouter() -> Router<ServiceRequestContext> {
        let router = Router(context: ServiceRequestContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: TracingMiddleware())
        router.add(middleware: CrossOriginMiddleware())
        router.add(middleware: ErrorMiddleware(clock: sessions.timing.clock) { UUID().uuidString.lowercased() })
        router.add(middleware: ExpectedBodyMiddleware())

        router.post("sync/stream") { try await openStream($0, $1) }
        router.get("write-checkpoint2.json") { request, _ in try await createWriteCheckpoint(request) }
        router.post("sync/checkpoint-request") { request, _ in try await requestCheckpoint(request) }
        addProbes(to: router)
        if probeOptions.useHTTP {
            router.get("sync/stream") { request, _ in try await probeStreaming(request) }
        }
        if let writableSource {
            router.post("dev/write") { request, context in
                try developmentAccess.check(request)
                return try await write(request, to: writableSource, context.logger)
            }
        }
        if let tokenSigner {
            router.post("dev/token") { request, _ in
                try developmentAccess.check(request)
                return try await signToken(request, with: tokenSigner)
            }
        }
        admin?.add(to: router)
        dashboard?.add(to: router)
        return router
    }

    /// The router of a process that serves no clients.
    func makeProbeRouter() -> Router<ServiceRequestContext> {
        let router = Router(context: ServiceRequestContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: ErrorMiddleware(clock: sessions.timing.clock) { UUID().uuidString.lowercased() })
        addProbes(to: router)
        return router
    }

    private func addProbes(to router: Router<ServiceRequestContext>) {
        guard probeOptions.useHTTP else { return }
        for question in Probes.Question.allCases {
            // In no queue: probes have to be answered above all when there is much to do.
            router.get("probes/\(question.rawValue)") { _, _ in probes.response(to: question) }
        }
    }

    /// Checks the token of a request.
    ///
    /// - Throws: ``AuthorizationError``.
    func authorize(_ request: Request) async throws(AuthorizationError) -> VerifiedToken {
        try await tokens.verify(authorization: request.headers[.authorization], now: sessions.timing.seconds)
    }

    /// Reads the parameters of a request.
    ///
    /// - Throws: ``ErrorEnvelope``.
    func parameters(
        of request: inout Request,
        bodyLimit: Int,
        timeLimit: Duration = RequestParameters.bodyTimeLimit,
        halfPairs: JSONScanner.HalfPairs = .refused
    ) async throws -> RequestParameters {
        try await RequestParameters(
            &request,
            bodyLimit: bodyLimit,
            timeLimit: timeLimit,
            clock: sessions.timing.clock,
            halfPairs: halfPairs
        )
    }
}
