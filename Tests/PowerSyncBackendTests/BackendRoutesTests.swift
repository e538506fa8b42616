import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncUpload
import Testing

/// The routes for Hummingbird.
@Suite(.timeLimit(.minutes(1))) struct BackendRoutesTests {
    private let scenario: UploadScenario
    private let signer = SyncTokenSigner(key: .es256(id: "k1"), audience: "sync")

    init() throws {
        scenario = try UploadScenario { write, _ in
            switch write.entry.id {
            case "bad": return .reject("Not yours, \(write.user.id).")
            case "broken": throw HTTPError(.internalServerError)
            case "busy": throw DatabaseError(resultCode: .SQLITE_BUSY)
            default: return .apply
            }
        }
    }

    private func routes() -> BackendRoutes<BasicRequestContext> {
        BackendRoutes(applier: scenario.applier, signer: signer) { request, _ in
            let name = request.headers[.cookie]
            return name.map { BackendUser(id: $0, claims: ["role": .string("member")]) }
        }
    }

    private func run(
        _ routes: BackendRoutes<BasicRequestContext>? = nil,
        _ body: @Sendable @escaping (any TestClientProtocol) async throws -> Void
    ) async throws {
        let router = Router()
        (routes ?? self.routes()).add(to: router.group("api"))
        try await Application(router: router).test(.router) { client in try await body(client) }
    }

    private func headers(user: String = "u1") throws -> HTTPFields {
        [.authorization: "Bearer \(try signer.token(userID: user).text)", .contentType: "application/json"]
    }

    @Test func uploadsAreApplied() async throws {
        let headers = try headers()
        try await run { client in
            let upload = UploadRequest(
                clientID: "c",
                entries: [UploadScenario.put(1, "a"), UploadScenario.put(2, "bad")]
            )
            let body = ByteBuffer(bytes: upload.json)
            for _ in 0..<2 {
                try await client.execute(uri: "/api/upload", method: .post, headers: headers, body: body) { response in
                    #expect(response.status == .ok && response.headers[.contentType] == "application/json")
                    let answer = try UploadResponse(json: Array(buffer: response.body))
                    #expect(answer.appliedThrough == 1)
                    #expect(
                        answer.rejections == [
                            EntryRejection(operationID: 2, .forbidden, message: "Not yours, u1.")
                        ]
                    )
                }
            }
        }
        #expect(try await scenario.log() == ["+a"])
    }

    @Test func strangersAreRefusedBeforeTheirBody() async throws {
        try await run { client in
            for headers: HTTPFields in [[:], [.authorization: "Bearer x"], [.authorization: "Basic x"]] {
                let body = ByteBuffer(string: "garbage")
                try await client.execute(uri: "/api/upload", method: .post, headers: headers, body: body) { response in
                    #expect(response.status == .unauthorized)
                }
            }
        }
    }

    @Test func garbageIsRefusedByName() async throws {
        let headers = try headers()
        try await run { client in
            for body in ["", "garbage", #"{"data":[1]}"#] {
                let body = ByteBuffer(string: body)
                try await client.execute(uri: "/api/upload", method: .post, headers: headers, body: body) { response in
                    #expect(response.status == .badRequest)
                    #expect(
                        String(buffer: response.body).contains("must be")
                            || String(buffer: response.body).contains("JSON")
                    )
                }
            }
        }
    }

    @Test func theBodyIsLimited() async throws {
        var routes = routes()
        routes.maximumBytes = 100
        var headers = try headers()
        try await run(routes) { [headers] client in
            let body = ByteBuffer(
                bytes: UploadRequest(
                    clientID: "c",
                    entries: [
                        UploadScenario.put(1, "a", name: String(repeating: "x", count: 100))
                    ]
                ).json
            )
            try await client.execute(uri: "/api/upload", method: .post, headers: headers, body: body) { response in
                #expect(response.status == .contentTooLarge)
            }
        }
        headers[.contentLength] = "101"
        try await run(routes) { [headers] client in
            try await client.execute(uri: "/api/upload", method: .post, headers: headers) { response in
                #expect(response.status == .contentTooLarge)
            }
        }
        #expect(try await scenario.log().isEmpty)
    }

    @Test func faultsOfTheServerAreForLater() async throws {
        let headers = try headers()
        try await run { client in
            for (id, status) in [("broken", HTTPResponse.Status.internalServerError), ("busy", .serviceUnavailable)] {
                let upload = UploadRequest(clientID: "c", entries: [UploadScenario.put(1, id)])
                let body = ByteBuffer(bytes: upload.json)
                try await client.execute(uri: "/api/upload", method: .post, headers: headers, body: body) { response in
                    #expect(response.status == status)
                    #expect((response.headers[.retryAfter] == "1") == (status == .serviceUnavailable))
                }
            }
        }
        #expect(try await scenario.log().isEmpty)
    }

    @Test func tokensAndKeysGoTogether() async throws {
        let signer = signer
        try await run { client in
            try await client.execute(uri: "/api/token", method: .post) { response in
                #expect(response.status == .unauthorized)
            }
            struct Answer: Decodable {
                var token: String
                var user_id: String
                var expires_at: Int64
            }
            let answer = try await client.execute(uri: "/api/token", method: .post, headers: [.cookie: "anna"]) {
                response in
                try JSONDecoder().decode(Answer.self, from: Data(Array(buffer: response.body)))
            }
            #expect(answer.user_id == "anna")
            let user = try await signer.verify(authorization: "Bearer \(answer.token)")
            #expect(user.id == "anna" && user.claims["role"] == .string("member"))
            #expect(user.claims["exp"] == .int(Int(answer.expires_at)))
            try await client.execute(uri: "/api/jwks.json", method: .get) { response in
                #expect(response.headers[.contentType] == "application/jwk-set+json")
                #expect(String(buffer: response.body) == signer.keySet)
            }
        }
    }

    @Test func theAppMayAuthenticateInItsOwnWay() async throws {
        var routes = BackendRoutes<BasicRequestContext>(applier: scenario.applier, signer: signer)
        routes.authenticateUpload = { request, _ in request.headers[.cookie].map { BackendUser(id: $0) } }
        try await run(routes) { client in
            let upload = UploadRequest(clientID: "c", entries: [UploadScenario.put(1, "a")])
            let body = ByteBuffer(bytes: upload.json)
            try await client.execute(uri: "/api/upload", method: .post, headers: [.cookie: "anna"], body: body) {
                response in
                #expect(response.status == .ok)
            }
            try await client.execute(uri: "/api/token", method: .post) { response in
                #expect(response.status == .notFound)
            }
        }
    }
}
