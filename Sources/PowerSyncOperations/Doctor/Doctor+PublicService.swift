import PowerSyncService
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncProtocol
package import PowerSyncServiceCore

/// A running service, looked at from where its clients are.
extension Doctor {
    private static let page = "The page \"Deploying behind a proxy\" has configurations for nginx and Caddy."

    /// Examines a running service through its public address.
    ///
    /// - Parameter service: The service.
    /// - Returns: The findings, in the order of the looks.
    /// - Throws: `CancellationError`.
    package func examine(_ service: PublicService) async throws -> [Finding] {
        try await service.withClient { client in
            var findings: [Finding] = []
            checkScheme(of: service, &findings)
            guard try await checkProbes(of: service, client, &findings) else { return findings }
            try await look(at: "/sync/stream", of: service, &findings) { findings in
                try await checkAuthorization(of: service, client, &findings)
            }
            try await look(at: "/sync/stream?probe=streaming", of: service, &findings) { findings in
                try await checkStreaming(of: service, client, &findings)
            }
            try await look(at: "a WebSocket", of: service, &findings) { findings in
                try await checkWebSocket(of: service, &findings)
            }
            if let token = service.token {
                try await look(at: "/sync/stream", of: service, &findings) { findings in
                    try await checkStream(of: service, token, client, &findings)
                }
            }
            return findings
        }
    }

    /// Turns errors of the network into findings.
    private func look(
        at what: String,
        of service: PublicService,
        _ findings: inout [Finding],
        _ body: (inout [Finding]) async throws -> Void
    ) async throws {
        do {
            try await body(&findings)
        } catch let error as CancellationError {
            throw error
        } catch {
            try Task.checkCancellation()
            findings.fail(
                .service,
                "\(what) gets no answer: \(AdminRequest.reason(error))",
                place: service.url,
                remedy: "Look into the log of the proxy before it. \(Self.page)"
            )
        }
    }

    private func checkScheme(of service: PublicService, _ findings: inout [Finding]) {
        guard let url = URL(string: service.url), url.scheme?.lowercased() == "http",
            let host = url.host(percentEncoded: false), !["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
        else { return }
        findings.warn(
            .service,
            "the address is not encrypted: whoever is on the way can read tokens and rows",
            place: service.url,
            remedy: "Use https, by a proxy or by tls of the configuration."
        )
    }

    // MARK: Probes

    /// Looks whether a service is there.
    ///
    /// - Returns: Whether something answers.
    private func checkProbes(
        of service: PublicService,
        _ client: HTTPClient,
        _ findings: inout [Finding]
    ) async throws -> Bool {
        let reply: PublicService.Reply
        do {
            reply = try await service.send(.GET, "/probes/readiness", client)
        } catch {
            try Task.checkCancellation()
            findings.fail(
                .service,
                "does not answer: \(AdminRequest.reason(error))",
                place: service.url,
                remedy: "Check the address, its certificate, and that the service and the proxy before it are running."
            )
            return false
        }
        if let date = reply.date { checkClock(against: date, of: service.url, &findings) }
        let probe = try? JSONObject(parsing: reply.body)
        switch (reply.status, probe?["ready"]) {
        case (_, .bool(true)):
            findings.ok(.service, "is ready", place: service.url)
        case (_, .bool(false)):
            findings.warn(
                .service,
                "runs, and is not ready: \(probe?["problems"]?.text ?? "the source is being copied, or no sync config is active")",
                place: service.url,
                remedy: "powersync status says what it does; its log says why."
            )
        case (404, _) where reply.code == .routeNotFound:
            findings.ok(.service, "answers; its probes are switched off", place: service.url)
        default:
            findings.fail(
                .service,
                Self.foreignAnswer(to: "/probes/readiness", status: reply.status, reply.redirect),
                place: service.url,
                remedy: "Let the proxy pass on every path below the address. \(Self.page)"
            )
        }
        return true
    }

    // MARK: Requests

    /// Looks whether requests arrive as they were sent.
    private func checkAuthorization(
        of service: PublicService,
        _ client: HTTPClient,
        _ findings: inout [Finding]
    ) async throws {
        // It is no token, so that it is of no use to others.
        let reply = try await service.send(.POST, "/sync/stream", authorization: "Token no.real.token", client)
        switch (reply.status, reply.code) {
        case (401, .authentication?):
            findings.ok(.service, "requests and their Authorization arrive", place: service.url)
        case (401, .tokenMissing?):
            findings.fail(
                .service,
                "the Authorization header of requests does not arrive",
                place: service.url,
                remedy: "Let the proxy pass it on, and do without its own authentication for this address. \(Self.page)"
            )
        case (429, _):
            findings.warn(
                .service,
                "is full: it has as many streams as it may",
                place: service.url,
                remedy: "Raise api.parameters.max_concurrent_connections, or run another node."
            )
        default:
            findings.fail(
                .service,
                Self.foreignAnswer(to: "/sync/stream", status: reply.status, reply.redirect),
                place: service.url,
                remedy: "Let the proxy pass on POST requests to /sync/stream. \(Self.page)"
            )
        }
    }

    /// Looks whether lines arrive when they are sent.
    private func checkStreaming(
        of service: PublicService,
        _ client: HTTPClient,
        _ findings: inout [Finding]
    ) async throws {
        let request = service.request(.GET, "/sync/stream?probe=streaming")
        let response = try await client.execute(request, timeout: PublicService.timeout)
        var arrivals: [ContinuousClock.Instant] = []
        var text = ""
        for try await bytes in response.body {
            arrivals.append(.now)
            text += String(buffer: bytes)
            guard text.utf8.count < 1024 else { break }
        }
        guard response.status == .ok, text.contains("\"last\""), let first = arrivals.first, let last = arrivals.last
        else {
            return findings.warn(
                .service,
                "it cannot be told whether lines are passed on at once: status \(response.status.code)"
                    + Self.addition(service.redirect("/sync/stream", response.status, response.headers)),
                place: service.url,
                remedy: "The service is older, its probes are switched off, or it is being asked by others; try again."
            )
        }
        // Half of the pause: what is on the way may be late, but not all that late.
        guard last - first >= ServiceRoutes.probePause / 2 else {
            return findings.fail(
                .service,
                "a proxy keeps lines of streams back: two that were sent \(ServiceRoutes.probePause) apart arrive together",
                place: service.url,
                remedy: "Switch its buffering off for /sync/stream (nginx: proxy_buffering off). \(Self.page)"
            )
        }
        findings.ok(.service, "lines of streams arrive when they are sent", place: service.url)
    }

    private func checkWebSocket(of service: PublicService, _ findings: inout [Finding]) async throws {
        let (line, redirect) = try await UpgradeProbe.answer(of: service)
        if line.split(separator: " ").dropFirst().first == "101" {
            return findings.ok(.service, "WebSockets can be opened", place: service.url)
        }
        findings.warn(
            .service,
            "WebSockets cannot be opened: the answer is \(line.isEmpty ? "none" : line)" + Self.addition(redirect),
            place: service.url,
            remedy: """
                Clients over HTTP do not need them. Let the proxy pass on upgrades (nginx: proxy_http_version 1.1, and the headers \
                Upgrade and Connection). \(Self.page)
                """
        )
    }

    /// Opens a stream as a client does.
    private func checkStream(
        of service: PublicService,
        _ token: String,
        _ client: HTTPClient,
        _ findings: inout [Finding]
    ) async throws {
        let request = service.request(.POST, "/sync/stream", "Token \(token)")
        let response = try await client.execute(request, timeout: PublicService.timeout)
        // A stream has no end, and what fits into one read is the network's business.
        let first = try await Self.firstLine(of: response.body)
        guard response.status != .ok else {
            guard first.contains("\"checkpoint\"") else {
                return findings.fail(
                    .service,
                    "the stream does not begin with a checkpoint",
                    place: service.url,
                    remedy: "Look into the log of the service."
                )
            }
            return findings.ok(.service, "the token is accepted, and its stream begins", place: service.url)
        }
        let envelope = ErrorEnvelope(json: ByteBuffer(string: first))
        let redirect = service.redirect("/sync/stream", response.status, response.headers)
        findings.fail(
            .service,
            "the stream of the token is refused: \(envelope?.description ?? "status \(response.status.code)")"
                + Self.addition(redirect),
            place: service.url,
            remedy: response.status == .unauthorized
                ? "The log of the service says why: key, audience, expiry." : "Look into the log of the service.",
            code: envelope?.code
        )
    }

    /// What is said of an answer that no service gives.
    private static func foreignAnswer(to path: String, status: Int, _ redirect: HTTPRedirect?) -> String {
        "something else answers \(path): status \(status)\(addition(redirect))"
    }

    /// What is said of a redirect, behind something else.
    private static func addition(_ redirect: HTTPRedirect?) -> String { redirect.map { ". \($0.sentence)" } ?? "" }

    /// Reads a body up to the end of its first line, or to its own.
    ///
    /// - Returns: The line, and what came with it.
    private static func firstLine(of body: HTTPClientResponse.Body) async throws -> String {
        var line = ByteBuffer()
        for try await bytes in body {
            line.writeImmutableBuffer(bytes)
            guard !bytes.readableBytesView.contains(UInt8(ascii: "\n")),
                line.readableBytes < PublicService.maximumBodySize
            else { break }
        }
        return String(buffer: line)
    }
}
