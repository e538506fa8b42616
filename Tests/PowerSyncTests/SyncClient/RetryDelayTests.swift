import Testing

@testable import PowerSyncClient

@Suite struct RetryDelayTests {
    @Test(arguments: [(0.0, 4_500), (0.5, 5_000), (0.999_999, 5_499)])
    func delayVariesByTenPercent(random: Double, milliseconds: Int64) {
        let delay = RetryDelay(base: .seconds(5), random: { random })
        #expect(delay.next().components.seconds * 1000 + delay.next().milliseconds == milliseconds)
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.attoseconds / 1_000_000_000_000_000 }
}
