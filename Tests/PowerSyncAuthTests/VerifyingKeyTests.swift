import JWTKit
import NIOConcurrencyHelpers
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// What a key keeps from one check to the next.
@Suite struct VerifyingKeyTests {
    /// Reads keys, and notes for which algorithms.
    private final class Reader: Sendable {
        private let read = NIOLockedValueBox<[SigningAlgorithm]>([])

        var algorithms: [SigningAlgorithm] { read.withLockedValue { $0 } }

        func verifier(_ jwk: JWK, _ algorithm: SigningAlgorithm) async throws -> any JWTAlgorithm {
            read.withLockedValue { $0.append(algorithm) }
            return try await JSONWebKey.verifier(jwk, algorithm)
        }
    }

    private let reader = Reader()
    private let input = Array("header.payload".utf8)

    private func verifyingKey(_ key: JSONWebKey) -> VerifyingKey {
        VerifyingKey(key) { [reader] in try await reader.verifier($0, $1) }
    }

    @Test func aPublicKeyIsReadOnceForEachAlgorithm() async throws {
        let pairs: [(TestKeyPair, SigningAlgorithm)] = [
            (try await TestKeyPair(.rs256, id: "k"), .rs256),
            (try await TestKeyPair(.rs384, id: "k"), .rs384),
        ]
        let key = verifyingKey(pairs[0].0.key.withoutAlgorithm)
        for (pair, algorithm) in pairs + pairs {
            // Each token gets a copy.
            let copy = key
            let signature = try pair.sign(input)
            let isValid = await copy.isValid(signature, for: input, algorithm: algorithm)
            let isValidForOthers = await copy.isValid(signature, for: [1, 2, 3], algorithm: algorithm)
            #expect(isValid && !isValidForOthers)
        }
        #expect(reader.algorithms == [.rs256, .rs384])
    }

    @Test func aKeyThatCannotBeReadIsReadOnce() async throws {
        let noCoordinate = Base64URL.encode(Array(repeating: 1, count: 32))
        let key = verifyingKey(
            try JSONWebKey(members: [
                "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "k", "x": noCoordinate, "y": noCoordinate,
            ])
        )
        for _ in 0..<3 {
            let isValid = await key.isValid(Array(repeating: 1, count: 64), for: input, algorithm: .es256)
            #expect(!isValid)
        }
        #expect(reader.algorithms == [.es256])
    }
}
