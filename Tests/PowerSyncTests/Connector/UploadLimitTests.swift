import Testing

@testable import PowerSyncClient

@Suite struct UploadLimitTests {
    @Test func aRefusalHalvesWhatIsSentDownToOneEntry() {
        var limit = UploadLimit(maximum: 1000)
        var sizes: [Int] = []
        for _ in 0..<5 {
            limit.refused(min(limit.entries, 20))
            sizes.append(limit.entries)
        }
        #expect(sizes == [10, 5, 2, 1, 1])
    }

    @Test func eachAcceptedRequestLetsTheNextOneBeTwiceAsLargeUpToTheMaximum() {
        var limit = UploadLimit(maximum: 7)
        limit.refused(2)
        var sizes: [Int] = []
        for _ in 0..<5 {
            sizes.append(limit.entries)
            limit.accepted(limit.entries)
        }
        #expect(sizes == [1, 2, 4, 7, 7])
        #expect(limit == UploadLimit(maximum: 7))
    }

    @Test func aSmallRequestSaysNothingAboutLargerOnes() {
        var limit = UploadLimit(maximum: 1000)
        limit.refused(16)
        for _ in 0..<10 { limit.accepted(3) }
        #expect(limit.entries == 8)
        limit.accepted(4)
        #expect(limit.entries == 16)
    }

    /// The pause after each further refusal is twice as long, until as much as was refused is accepted.
    @Test
    func pauses() {
        var limit = UploadLimit(maximum: 1000)
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            limit.refused(2)
            for _ in 0..<pause {
                #expect(limit.entries == 1)
                limit.accepted(1)
            }
            #expect(limit.entries == 2)
        }
        limit.accepted(2)
        limit.refused(2)
        limit.accepted(1)
        #expect(limit.entries == 2)
    }

    @Test(arguments: [1, 2, 3, 5, 64, 999])
    func backendThatTakesSoManyAndNoMoreRefusesFewOfManyRequests(capacity: Int) {
        var limit = UploadLimit(maximum: 1000)
        var (accepted, refused) = (0, 0)
        while accepted < 2000 {
            if limit.entries > capacity {
                limit.refused(limit.entries)
                refused += 1
            } else {
                limit.accepted(limit.entries)
                accepted += 1
            }
        }
        // 9 until one entry is tried, 7 until the longest pause, and then one for 65 requests.
        #expect(refused <= 9 + 7 + 2000 / 64)
    }

    @Test func theLargestMaximumDoesNotOverflow() {
        var limit = UploadLimit(maximum: .max)
        limit.accepted(.max)
        limit.refused(.max)
        limit.accepted(.max)
        #expect(limit.entries > Int.max / 2)
    }
}
