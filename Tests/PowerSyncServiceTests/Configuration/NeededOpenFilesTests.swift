import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// How many files a service has to have open for its clients.
@Suite struct NeededOpenFilesTests {
    @Test func aConfigurationNeedsFilesForItsStreamsOverHTTPAndOverWebSocket() throws {
        let folder = try TemporaryFolder()
        var configuration = ServiceScenario.configuration(in: folder)
        configuration.limits.maxConcurrentConnections = 0
        let least = configuration.neededOpenFiles
        #expect(least > 100)
        configuration.limits.maxConcurrentConnections = 5_000
        #expect(configuration.neededOpenFiles == least + 10_000)
        // The largest number of a configuration file.
        configuration.limits.maxConcurrentConnections = .max
        #expect(configuration.neededOpenFiles > 1_000_000)
    }
}
