import Testing

@testable import HTTPConnections

/// How far the limit of open files is raised.
@Suite struct OpenFileLimitTests {
    @Test(
        arguments: [
            (100, nil), (1024, nil), (1025, 1025), (4096, 4096), (4097, 4096), (Int.max, 4096),
        ] as [(Int, Int?)]
    )
    func aLimitIsRaisedAsFarAsItMayBe(_ count: Int, _ raised: Int?) {
        #expect(OpenFileLimit(current: 1024, maximum: 4096).raised(for: count) == raised)
        #expect(OpenFileLimit(current: 4096, maximum: 4096).raised(for: count) == nil)
    }

    @Test func theLimitOfThisProcessIsRaised() throws {
        let before = try #require(OpenFileLimit.ofProcess)
        OpenFileLimit.raise(for: 1)
        #expect(OpenFileLimit.ofProcess == before)
        guard before.current < before.maximum else { return }
        OpenFileLimit.raise(for: before.current + 1)
        #expect(OpenFileLimit.ofProcess == OpenFileLimit(current: before.current + 1, maximum: before.maximum))
    }
}
