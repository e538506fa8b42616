import Testing

@testable import PowerSyncCore

@Suite struct SyncInstantTests {
    @Test func additionStaysInRange() {
        #expect(SyncInstant(microseconds: 5).adding(seconds: 2) == SyncInstant(microseconds: 2_000_005))
        #expect(SyncInstant(microseconds: 5).adding(seconds: .max) == SyncInstant(microseconds: .max))
        #expect(SyncInstant(microseconds: .max).adding(seconds: 1) == SyncInstant(microseconds: .max))
        #expect(SyncInstant(microseconds: .min).adding(seconds: -1) == SyncInstant(microseconds: .min))
    }
}
