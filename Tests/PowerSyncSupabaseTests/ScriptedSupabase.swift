import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSync
import TestSupport
import Testing

@testable import PowerSyncSupabase

/// A server that plays a project: it signs in, takes what it gets, and refuses what a test wants it to.
final class ScriptedSupabase: Sendable {
    /// A request in short: `POST /rest/v1/todos?on_conflict=id [{…}]`.
    struct Received: Equatable, CustomStringConvertible {
        var line: String
        var body: String

        var description: String { body.isEmpty ? line : "\(line) \(body)" }
    }

    let project: SupabaseProject
    private let server: StorageServer
    private let script: Script
    let date: NIOLockedValueBox<Date>

    /// What the server knows.
    final class Script: Sendable {
        struct State {
            /// How many sessions there were.
            var sessions = 0
            /// Tokens that are refused though their time is not over.
            var refusedTokens: Set<String> = []
            /// Answers in place of the server; `nil` for its own answer.
            var interception: (@Sendable (StorageServer.Request) -> StorageServer.Response?)?
        }

        let state = NIOLockedValueBox(State())

        func respond(to request: StorageServer.Request) -> StorageServer.Response {
            if let answer = state.withLockedValue({ $0.interception })?(request) { return answer }
            if request.uri.hasPrefix("/auth/v1/token") || request.uri.hasPrefix("/auth/v1/signup") {
                let number = state.withLockedValue { state in
                    state.sessions += 1
                    return state.sessions
                }
                return .json(
                    200,
                    #"{"access_token":"t\#(number)","refresh_token":"r\#(number)","expires_in":3600,"user":{"id":"u1"}}"#
                )
            }
            let token = request.header("Authorization")?.dropFirst("Bearer ".count) ?? ""
            guard !state.withLockedValue({ $0.refusedTokens.contains(String(token)) }) else {
                return .json(401, #"{"code":"PGRST301","message":"JWT expired","details":null,"hint":null}"#)
            }
            return .init(status: request.method == .POST ? .created : .noContent)
        }
    }

    private init(_ server: StorageServer, _ script: Script) throws {
        self.server = server
        self.script = script
        date = NIOLockedValueBox(Date(timeIntervalSince1970: 1_795_900_000))
        project = SupabaseProject(url: try #require(URL(string: server.url)), apiKey: "anon")
    }

    /// Runs a test against a server.
    static func run(_ body: (ScriptedSupabase) async throws -> Void) async throws {
        let script = Script()
        try await StorageServer.run({ script.respond(to: $0) }) { try await body(ScriptedSupabase($0, script)) }
    }

    /// Changes what the server does.
    func change(_ body: (inout Script.State) -> Void) {
        script.state.withLockedValue { body(&$0) }
    }

    /// Refuses requests whose body has a text.
    func refuse(_ text: String, _ status: Int, _ json: String) {
        change {
            $0.interception = { request in
                String(decoding: request.body, as: UTF8.self).contains(text) ? .json(status, json) : nil
            }
        }
    }

    var requests: [StorageServer.Request] { server.received }

    /// What came to the tables.
    var received: [Received] {
        server.received.filter { $0.uri.hasPrefix("/rest/") }.map {
            Received(line: "\($0.method) \($0.uri)", body: String(decoding: $0.body, as: UTF8.self))
        }
    }

    /// A sign-in that has begun.
    func signedIn() async throws -> SupabaseAuth {
        let auth = SupabaseAuth(
            project,
            session: nil,
            now: { [date] in date.withLockedValue { $0 } },
            changed: { _ in }
        )
        try await auth.signIn(email: "a@example.com", password: "secret")
        return auth
    }
}

extension StorageServer.Response {
    static func json(_ status: Int, _ text: String) -> Self {
        .init(
            status: .init(statusCode: status),
            headers: ["Content-Type": "application/json"],
            body: .init(bytes: Data(text.utf8))
        )
    }
}
