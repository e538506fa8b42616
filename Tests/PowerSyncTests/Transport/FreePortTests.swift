import Foundation
import TestSupport
import Testing

/// The ports that tests give to servers which they start again.
@Suite struct FreePortTests {
    @Test func noPortIsGivenTwice() {
        let ports = (0..<100).map { _ in FreePort.take() }
        #expect(Set(ports).count == ports.count)
        #expect(ports.allSatisfy(FreePort.range.contains))
    }

    @Test func aPortThatSomebodyListensOnIsNotFree() async throws {
        try await StorageServer.run { _ in
            StorageServer.Response()
        } _: { server in
            let port = try #require(URL(string: server.url)?.port)
            #expect(!FreePort.isFree(port))
        }
    }
}
