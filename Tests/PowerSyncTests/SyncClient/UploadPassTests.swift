import Testing

@testable import PowerSyncClient

@Suite struct UploadPassTests {
    private var pass = UploadLoop.Pass()

    @Test mutating func emptyQueueFinishes() {
        #expect(pass.headRead(nil) == .finish)
    }

    @Test mutating func callbackCompletesOneTransactionPerCall() {
        #expect(pass.headRead(1) == .upload(head: 1))
        #expect(pass.headRead(4) == .upload(head: 4))
        #expect(pass.headRead(nil) == .finish)
    }

    @Test mutating func callbackDoesNothing() {
        #expect(pass.headRead(1) == .upload(head: 1))
        #expect(pass.headRead(1) == .stall)
    }

    @Test mutating func sameHeadAfterAnErrorIsARetry() {
        #expect(pass.headRead(1) == .upload(head: 1))
        pass.failed()
        #expect(pass.headRead(1) == .upload(head: 1))
        #expect(pass.headRead(1) == .stall)
        pass.failed()
        #expect(pass.headRead(1) == .upload(head: 1))
    }
}
