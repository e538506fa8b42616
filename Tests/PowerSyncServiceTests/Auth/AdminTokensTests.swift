import PowerSyncAuth
import Testing

@testable import PowerSyncService

/// Which tokens of operators are accepted.
@Suite struct AdminTokensTests {
    @Test(arguments: [
        (["a", "b"], "Token a", true), (["a", "b"], "Bearer b", true), (["a"], "Token b", false), (["a"], "a", false),
        (["a"], "Token ", false), (["a"], "Token A", false), (["a b"], "Token a b", true),
        ([], "Token ", false), ([], "Token a", false), ([""], "", false), ([""], "Token ", false),
    ])
    func tokensAreCompared(known: [String], header: String, isAccepted: Bool) {
        let tokens = AdminTokens(known)
        if isAccepted {
            #expect(throws: Never.self) { try tokens.authorize(header) }
        } else {
            #expect(throws: AuthorizationError.self) { try tokens.authorize(header) }
        }
    }

    @Test func aRequestWithoutAHeaderIsRefused() {
        #expect(throws: AuthorizationError.self) { try AdminTokens(["a"]).authorize(nil) }
    }
}
