import Testing

@testable import PowerSyncClient

@Suite struct RetryDelayTests {
    @Test(arguments: [(0.0, 4_500), (0.5, 5_000), (0.999_999, 5_499)])
    func delayVariesByTenPercent(random: Double, milliseconds: Int64) {
        var environment = SyncEnvironment.live
        environment.random = { random }
        let delay = environment.retryDelay(around: .seconds(5))
        #expect(delay.components.seconds * 1000 + delay.milliseconds == milliseconds)
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.attoseconds / 1_000_000_000_000_000 }
}
