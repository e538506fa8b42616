import Foundation
import NIOConcurrencyHelpers
import PowerSync
import TestSupport
import Testing

@testable import PowerSyncSupabase

@Suite(.timeLimit(.minutes(1))) struct SupabaseAuthTests {
    @Test
    func signsInWithAPasswordAndKeepsTheSession() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let kept = NIOLockedValueBox<[SupabaseSession?]>([])
            let auth = SupabaseAuth(
                supabase.project,
                session: nil,
                now: { Date(timeIntervalSince1970: 1000) },
                changed: { session in kept.withLockedValue { $0.append(session) } }
            )
            await #expect(throws: SupabaseError.self) { try await auth.accessToken() }
            let session = try await auth.signIn(email: "a@example.com", password: "secret")
            let expected = SupabaseSession(
                accessToken: "t1",
                refreshToken: "r1",
                expiresAt: Date(timeIntervalSince1970: 4600),
                userID: "u1"
            )
            #expect(session == expected)
            #expect(kept.withLockedValue { $0 } == [expected])
            #expect(try await auth.accessToken() == "t1")
            #expect(!"\(session)".contains("t1") && !"\(session)".contains("r1"))
            let request = try #require(supabase.requests.last)
            #expect(request.uri == "/auth/v1/token?grant_type=password")
            #expect(request.header("apikey") == "anon")
            let fields = try JSONDecoder().decode([String: String].self, from: request.body)
            #expect(fields == ["email": "a@example.com", "password": "secret"])

            await auth.signOut()
            #expect(kept.withLockedValue { $0 } == [expected, nil])
            #expect(supabase.requests.last?.uri == "/auth/v1/logout?scope=local")
            #expect(supabase.requests.last?.header("Authorization") == "Bearer t1")
        }
    }

    @Test
    func renewsATokenOnceForAllWhoWaitForIt() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let auth = try await supabase.signedIn()
            supabase.date.withLockedValue { $0 += 3540 }
            #expect(try await auth.accessToken() == "t1")
            supabase.date.withLockedValue { $0 += 1 }
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await auth.accessToken() } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens == ["t2"])
            let renewal = try #require(supabase.requests.last)
            #expect(renewal.uri == "/auth/v1/token?grant_type=refresh_token")
            #expect(String(decoding: renewal.body, as: UTF8.self) == #"{"refresh_token":"r1"}"#)
            #expect(supabase.requests.count == 2)
            // A server that refuses a token gets another one; who has that already does not.
            #expect(try await auth.accessToken(replacing: "t2") == "t3")
            #expect(try await auth.accessToken(replacing: "t2") == "t3")
        }
    }

    @Test
    func endsTheSessionWhenItCannotBeRenewedAndKeepsItWhenTheServerIsAway() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let auth = try await supabase.signedIn()
            supabase.change { $0.interception = { _ in .json(503, "") } }
            let away = await #expect(throws: SupabaseError.self) { try await auth.accessToken(replacing: "t1") }
            #expect(away?.httpStatus == 503)
            #expect(await auth.session?.accessToken == "t1")
            supabase.change {
                $0.interception = { _ in
                    .json(400, #"{"code":400,"error_code":"refresh_token_not_found","msg":"Invalid"}"#)
                }
            }
            let ended = await #expect(throws: SupabaseError.self) { try await auth.accessToken(replacing: "t1") }
            #expect(ended?.code == .signedOut && ended?.serverCode == "refresh_token_not_found")
            #expect(await auth.session == nil)
        }
    }

    /// The session of a user who signs out while the app keeps it is not kept after that.
    @Test
    func sessionsAreKeptInTheirOrder() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let kept = NIOLockedValueBox<[String?]>([])
            let itself = NIOLockedValueBox<SupabaseAuth?>(nil)
            let auth = SupabaseAuth(supabase.project) { session in
                if session != nil { await itself.withLockedValue { $0 }?.use(nil) }
                kept.withLockedValue { $0.append(session?.accessToken) }
            }
            itself.withLockedValue { $0 = auth }
            try await auth.signInAnonymously()
            #expect(await auth.session == nil)
            await auth.use(nil)
            #expect(kept.withLockedValue { $0 } == ["t1", nil, nil])
            itself.withLockedValue { $0 = nil }
        }
    }

    @Test
    func signUpMayGiveNoSession() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let auth = SupabaseAuth(supabase.project)
            #expect(try await auth.signInAnonymously().userID == "u1")
            supabase.change { $0.interception = { _ in .json(200, #"{"id":"u2","email":"b@example.com"}"#) } }
            #expect(try await auth.signUp(email: "b@example.com", password: "x") == nil)
            #expect(await auth.session?.userID == "u1")
            await #expect(throws: SupabaseError.self) { try await auth.signInAnonymously() }
            for body in ["", "[]", "{}", "<html>"] {
                supabase.change { $0.interception = { _ in .json(200, body) } }
                let error = await #expect(throws: SupabaseError.self) {
                    try await auth.signIn(email: "a", password: "b")
                }
                #expect(error?.code == .unexpectedResponse)
            }
        }
    }
}
