import PowerSyncCore
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct CoalescingTriggerTests {
    private let trigger = UploadTrigger()

    @Test(arguments: [[UploadReason.news, .keepalive], [.keepalive, .news]])
    func ofSeveralReasonsTheGreatestCounts(_ reasons: [UploadReason]) async throws {
        for reason in reasons { trigger.fire(reason) }
        #expect(try await trigger.wait() == .news)
        #expect(trigger.take() == nil)
    }
}
