import Foundation
import Testing

@testable import PowerSyncClient

@Suite struct PowerSyncCredentialsTests {
    private let credentials = PowerSyncCredentials(endpoint: "https://x", token: "secret")

    @Test func tokenIsNotShown() throws {
        #expect(!"\(credentials)".contains("secret"))
        #expect(!String(reflecting: credentials).contains("secret"))
        #expect(try !"\(ServiceCredentials(credentials))".contains("secret"))
    }

    @Test(arguments: ["secret\n", "secret\r\nX: y", "sec\0ret", "\tsecret"])
    func aTokenThatCannotBeSentIsAnErrorWithoutIt(token: String) throws {
        let error = #expect(throws: PowerSyncError.self) {
            try ServiceCredentials(PowerSyncCredentials(endpoint: "https://x", token: token))
        }
        #expect(
            error?.errorDescription?.hasPrefix("The token of the credentials from fetchCredentials() has a line break")
                == true
        )
        #expect(error.map { "\($0)" }?.contains("secret") == false)
    }

    @Test func codingKeysAreEndpointAndToken() throws {
        let data = Data(#"{"endpoint":"https://x","token":"secret"}"#.utf8)
        let decoded = try JSONDecoder().decode(PowerSyncCredentials.self, from: data)
        #expect(decoded.endpoint == "https://x")
        #expect(decoded.token == "secret")
        let object = try JSONDecoder().decode([String: String].self, from: JSONEncoder().encode(credentials))
        #expect(object == ["endpoint": "https://x", "token": "secret"])
    }

    @Test func pathIsAppendedToTheEndpoint() {
        #expect(credentials.endpointUri(path: "sync/stream") == "https://x/sync/stream")
    }

    @Test(
        arguments: [
            nil, PowerSyncCredentials(endpoint: "https://x", token: ""),
            PowerSyncCredentials(endpoint: "", token: "t"),
        ] as [PowerSyncCredentials?]
    )
    func unusableCredentialsAreAnError(credentials: PowerSyncCredentials?) {
        #expect(throws: PowerSyncError.self) { try ServiceCredentials(credentials) }
    }
}
