import HTTPTypes
import Hummingbird
import HummingbirdTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// What browsers ask before a page may send a request; `RequestTests` has the answers of a whole service.
@Suite(.timeLimit(.minutes(1))) struct CrossOriginTests {
    /// The header fields of the answer to a preflight request.
    private static func preflight(_ path: String, _ headers: [String: String]) async throws -> HTTPFields {
        let router = Router(context: ServiceRequestContext.self)
        router.add(middleware: CrossOriginMiddleware())
        for route in ["sync/stream", "dev/token", "dashboard"] { router.post(RouterPath(route)) { _, _ in "" } }
        var fields = HTTPFields()
        for (name, value) in headers {
            let name = try #require(HTTPField.Name(name))
            fields[name] = value
        }
        return try await Application(router: router, logger: CollectedLog().logger).test(.router) { [fields] client in
            try await client.executeRequest(uri: path, method: .options, headers: fields, body: nil).headers
        }
    }

    struct Preflight: CustomTestStringConvertible, Sendable {
        var asked: String
        var added: String
        var testDescription: String { asked }
    }

    @Test(arguments: [
        Preflight(asked: "traceparent,sentry-trace, baggage", added: ", traceparent, sentry-trace, baggage"),
        Preflight(asked: "authorization, CONTENT-TYPE ,x-user-agent", added: ""),
        Preflight(asked: "X-A\t,  x-a,X-B,,", added: ", X-A, X-B"),
        Preflight(asked: "not a name, x:y, ok", added: ", ok"),
        Preflight(asked: "", added: ""),
    ])
    func aPageMaySendTheFieldsThatItAsksFor(_ test: Preflight) async throws {
        let headers: [String: String] = [
            "Origin": "http://a", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": test.asked,
        ]
        let fields = try await Self.preflight("/sync/stream", headers)
        #expect(
            fields[.accessControlAllowHeaders] == "Content-Type, Authorization, User-Agent, X-User-Agent" + test.added
        )
    }

    @Test(
        arguments: [
            ("/sync/stream", "https://app.example", "true", true), ("/sync/stream", "https://app.example", nil, false),
            ("/sync/stream", "https://app.example", "false", false),
            ("/dev/token", "https://app.example", "true", false),
            ("/dev/token", "http://localhost:5173", "true", true), ("/dashboard", "https://app.example", "true", false),
        ] as [(String, String, String?, Bool)]
    )
    func aPublicPageMayReachAPrivateNetworkIfItMayReachTheRoute(
        _ path: String,
        _ origin: String,
        _ asked: String?,
        _ isAllowed: Bool
    ) async throws {
        var headers = ["Origin": origin, "Access-Control-Request-Method": "POST"]
        headers["Access-Control-Request-Private-Network"] = asked
        let fields = try await Self.preflight(path, headers)
        let name = try #require(HTTPField.Name("Access-Control-Allow-Private-Network"))
        #expect((fields[name] == "true") == isAllowed)
    }
}
