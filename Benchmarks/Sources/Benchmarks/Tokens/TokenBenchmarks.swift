import Foundation
import PowerSyncBackend
import PowerSyncTokens

/// What the token of a request costs on one core when its key is known.
enum TokenBenchmarks {
    private static let count = 20_000

    /// Runs all cases.
    static func run() async throws {
        try await checks("tokens.hs256", .hs256(secret: Array("0123456789abcdef0123456789abcdef".utf8), id: "key"))
        try await checks("tokens.es256", .es256(id: "key"))
        try await checks("tokens.eddsa", .eddsa(id: "key"))
    }

    /// Checks a second, one after the other, as `POST /sync/stream` checks them.
    private static func checks(_ name: String, _ key: SigningKey) async throws {
        let signer = SyncTokenSigner(key: key, audience: "benchmark")
        let header = "Token \(try signer.token(userID: "u1", claims: ["role": .string("member")]).text)"
        let verifier = TokenVerifier(keys: [try key.verifying], audience: ["benchmark"])
        let now = Date().timeIntervalSince1970
        var best = Duration.seconds(1_000_000)
        for _ in 0..<3 {
            let start = ContinuousClock.now
            for _ in 0..<count { _ = try await verifier.verify(authorization: header, now: now) }
            best = min(best, ContinuousClock.now - start)
        }
        Report.line(name, ours: Measurement(best: best).rate(of: count), floors: [])
    }
}
