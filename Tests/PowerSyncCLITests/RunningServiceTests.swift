import ArgumentParser
import Testing

@testable import PowerSyncCLI

/// Where a running service is asked.
@Suite struct RunningServiceTests {
    private struct NotAsked: Error {}

    @Test(arguments: ["nonsense", "ftp://sync.example.com", "https://", "sync.example.com:8080"])
    func whatIsNoAddressIsRefused(_ url: String) {
        let error = #expect(throws: ValidationError.self) {
            _ = try RunningService.find(at: url) { throw NotAsked() }
        }
        #expect(error?.message == "--url is not an address such as https://sync.example.com: \(url)")
    }
}
