import HTTPConnections
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncDashboard
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth
import ServiceLifecycle

/// The dashboard: a page, and what it asks (docs/dashboard.md).
///
/// The page itself has no data and needs no token; everything that it shows needs a token of the admin API, or while
/// developing the key of the process.
struct DashboardRoutes: Sendable {
    /// The most pages that are open at the same time.
    static let maximumWatchers = 20
    /// The most entries of a part of a list.
    private static let pageLimit = 200

    /// The tokens that give access to it.
    var tokens: AdminTokens
    /// Answers what the admin API answers.
    var admin: AdminRoutes
    /// Looks at the service.
    var snapshots: SnapshotSource
    /// Does so every second.
    var feed: SnapshotFeed
    /// What stays the same while the process runs.
    var facts: ServiceFacts
    /// Checks the tokens of users whose rows are shown.
    var userTokens: TokenVerifier
    /// The semaphore of watchers.
    let watchers = ConcurrencyQueue(maximumRunning: maximumWatchers, maximumWaiting: 0)
    /// Lists of buckets go through all of a storage: one at a time, so that clients keep their connections to it.
    let listings = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: maximumWatchers)

    /// Adds all routes.
    func add(to router: Router<ServiceRequestContext>) {
        router.get("dashboard") { request, _ in
            // What the page loads is found beside it.
            if request.uri.path.hasSuffix("/") {
                return Response(status: .permanentRedirect, headers: [.location: "../dashboard"])
            }
            return DashboardPage.index.response
        }
        for file in DashboardPage.files {
            router.get("dashboard/\(file.name)") { _, _ in file.response }
        }
        router.get("dashboard/events") { request, context in
            try tokens.authorize(request.headers[.authorization])
            let slot = try await watchers.acquire()
            return events(context.channel, slot)
        }
        router.get("dashboard/clients") { request, _ in
            try await answer(request) { request in
                let part = try await Part(admin.parameters(of: request))
                return try Response(
                    encoding: snapshots.clients(search: part.search, offset: part.offset, limit: part.limit)
                )
            }
        }
        router.get("dashboard/buckets") { request, _ in
            try tokens.authorize(request.headers[.authorization])
            return try await listings.withSlot { try await answer(request, buckets) }
        }
        router.get("dashboard/streams") { request, _ in
            try tokens.authorize(request.headers[.authorization])
            return try await listings.withSlot {
                try await answer(request) { _ in
                    try Response(encoding: try await StreamUsage(of: snapshots.sessions))
                }
            }
        }
        router.get("dashboard/recent") { request, _ in
            try await answer(request) { request in
                let part = try await Part(admin.parameters(of: request))
                return try Response(
                    encoding: snapshots.recent(search: part.search, offset: part.offset, limit: part.limit)
                )
            }
        }
        router.get("dashboard/service") { request, _ in
            try await answer(request) { _ in try Response(encoding: facts) }
        }
        router.get("dashboard/history") { request, _ in
            try await answer(request) { _ in try Response(encoding: snapshots.history.points) }
        }
        router.get("dashboard/config") { request, _ in
            try await answer(request) { _ in
                Response(data: try await admin.diagnostics(includesContent: true, includesService: false))
            }
        }
        router.post("dashboard/rows") { request, _ in
            try await answer(request) { request in
                try await rows(admin.parameters(of: request, halfPairs: .replacedIn(["parameters"])))
            }
        }
        router.post("dashboard/user") { request, _ in
            try await answer(request) { request in
                try await preview(admin.parameters(of: request, halfPairs: .replacedIn(["claims", "parameters"])))
            }
        }
    }

    /// The rows of a user: `{"token":"…","parameters":{…},"streams":{…}}`, with the user's own token for the sync service.
    ///
    /// Whoever may look at the service sees names and numbers; rows are seen by who also has what their user has.
    private func rows(_ parameters: RequestParameters) async throws -> Response {
        let text = try parameters.requiredString("token")
        let token: VerifiedToken
        do throws(AuthorizationError) {
            token = try await userTokens.verify(authorization: "Token \(text)", now: snapshots.sessions.timing.seconds)
        } catch {
            throw ErrorEnvelope.validationFailed(["token: \(error.description)"])
        }
        do {
            return try Response(
                encoding: try await RowsOfUser(
                    of: token,
                    try syncRequest(parameters),
                    environment: snapshots.sessions
                )
            )
        } catch let error as RowsOfUser.TooMany {
            throw ErrorEnvelope.validationFailed(
                ["\(error.operations) operations are more than \(RowsOfUser.maximumOperations), which are read at most"]
            )
        }
    }

    /// Passes a request through the queue and the check of its token.
    private func answer(
        _ request: Request,
        _ handler: (Request) async throws -> Response
    ) async throws -> Response {
        try await admin.queue.withSlot {
            try tokens.authorize(request.headers[.authorization])
            var response = try await handler(request)
            response.headers[.cacheControl] = "no-store"
            return response
        }
    }

    private func buckets(_ request: Request) async throws -> Response {
        let part = try await Part(admin.parameters(of: request))
        // Before the first copy is complete.
        guard let stream = try await admin.storage.activeStream() else {
            return try Response(encoding: BucketList(total: 0, operations: 0, buckets: []))
        }
        let list = try await admin.storage.buckets(
            of: stream.id,
            search: part.search,
            offset: part.offset,
            limit: part.limit
        )
        return try Response(encoding: list)
    }

    // MARK: Snapshots

    /// Snapshots as server-sent events, until the client leaves or the process ends.
    private func events(_ channel: any Channel, _ slot: ConcurrencyQueue.Slot) -> Response {
        let watcher = feed.watch()
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close"],
            body: ResponseBody { writer in
                defer {
                    watcher.leave()
                    slot.release()
                }
                // Whatever the watcher waits for: without a storage there are no snapshots.
                let end: @Sendable () -> Void = {
                    watcher.stop()
                    channel.close(promise: nil)
                }
                try await withGracefulShutdownHandler {
                    DepartureHandler.whenClientLeaves(channel, end)
                    try await Self.write(watcher, to: &writer, channel)
                } onGracefulShutdown: {
                    end()
                }
            }
        )
    }

    @concurrent
    private static func write(
        _ watcher: SnapshotFeed.Watcher,
        to writer: inout any ResponseBodyWriter,
        _ channel: any Channel
    ) async throws {
        while let event = try await watcher.next() { try await writer.write(event) }
        try await writer.finish(nil)
        channel.close(mode: .output, promise: nil)
    }

    // MARK: Clients that might be

    /// What a user would get: `{"user_id":"…","claims":{…},"parameters":{…},"streams":{…}}`.
    private func preview(_ parameters: RequestParameters) async throws -> Response {
        var payload = JSONObject()
        switch parameters.members["claims"] {
        case nil, .null: break
        case .object(let claims): payload = claims
        default: throw ErrorEnvelope.validationFailed(["claims must be an object"])
        }
        payload["sub"] = .string(try parameters.requiredString("user_id"))
        let token = VerifiedToken(payload: payload, expiresAt: .infinity)
        return try Response(
            encoding: try await ClientPreview(
                try syncRequest(parameters),
                token: token,
                environment: snapshots.sessions
            )
        )
    }

    /// What a client would ask for: `parameters` and `streams`.
    private func syncRequest(_ parameters: RequestParameters) throws -> StreamingSyncRequest {
        var request = JSONObject()
        for name in ["parameters", "streams"] where parameters.members[name] != .null {
            request[name] = parameters.members[name]
        }
        do throws(RequestValidationError) {
            return try StreamingSyncRequest(.object(request))
        } catch {
            throw ErrorEnvelope.validationFailed(error.messages)
        }
    }

    /// Which part of a list is wanted: `search`, `offset` and `limit`.
    private struct Part {
        var search: String
        var offset: Int
        var limit: Int

        init(_ parameters: RequestParameters) throws {
            search = try parameters.string("search") ?? ""
            offset = try parameters.number("offset", in: 0...1_000_000_000) ?? 0
            limit = try parameters.number("limit", in: 1...DashboardRoutes.pageLimit) ?? ServiceSnapshot.listLimit
        }
    }
}

extension RequestParameters {
    /// A number of the query; `nil` when it is missing.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 when it is something else.
    fileprivate func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = try string(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw ErrorEnvelope.validationFailed(
                ["\(name) must be a number from \(range.lowerBound) to \(range.upperBound)"]
            )
        }
        return number
    }
}

extension Response {
    private struct Envelope<Data: Encodable>: Encodable {
        var data: Data
    }

    /// A successful response: `{"data": …}`.
    init(encoding data: some Encodable) throws {
        self.init(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder.forAnswers.encode(Envelope(data: data))))
        )
    }
}

extension DashboardRoutes {
    /// Whether a path is one of the dashboard.
    static func owns(_ path: String) -> Bool { RoutePath(path).isAtOrBelow("dashboard") }
}

extension DashboardPage.File {
    /// The file as a response.
    fileprivate var response: Response {
        Response(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "no-cache", .contentSecurityPolicy: DashboardPage.securityPolicy,
                .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
