import Testing

@testable import PowerSyncClient

@Suite struct ConnectOptionsTests {
    @Test func defaultsAreThoseOfTheSpecification() {
        let options = ConnectOptions()
        #expect(options.crudThrottle == ConnectOptions.DefaultCrudThrottle)
        #expect(options.retryDelay == ConnectOptions.DefaultRetryDelay)
        #expect(options.params.isEmpty)
        #expect(options.appMetadata.isEmpty)
        #expect(options.includeDefaultStreams)
        #expect(options.clientConfiguration == nil)
        #expect(options.uploadInterval == .seconds(1))
        #expect(options.retryInterval == .seconds(5))
        #expect(options.uploadRejectionPolicy == .retry)
    }

    @Test(arguments: [-1.0, -.infinity, .nan]) func nonsensicalDelaysBecomeZero(seconds: Double) {
        #expect(ConnectOptions(retryDelay: seconds).retryInterval == .zero)
    }

    @Test func infiniteDelayIsBounded() {
        #expect(ConnectOptions(crudThrottle: .infinity).uploadInterval == .seconds(365 * 86_400))
    }
}
