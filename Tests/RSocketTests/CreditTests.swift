import TestSupport
import Testing

@testable import RSocket

@Suite struct CreditTests {
    @Test func creditIsSpentAndAdded() {
        var credit = SendCredit(RequestN(2))
        let taken = (0..<3).map { _ in credit.take() }
        #expect(taken == [true, true, false])
        let wasExhausted = [credit.add(RequestN(1)), credit.add(RequestN(1))]
        #expect(wasExhausted == [true, false])
        #expect(credit.count == 2)
    }

    @Test func theLargestRequestsAddUp() {
        var credit = SendCredit(.maximum)
        for _ in 0..<1000 { _ = credit.add(.maximum) }
        #expect(credit.count == 1001 * 2_147_483_647)
    }

    @Test(arguments: [(0, 1), (-5, 1), (1, 1), (7, 7), (Int.max, 2_147_483_647)])
    func requestsAreBroughtIntoTheirRange(_ count: Int, expected: Int) {
        #expect(Int(RequestN(clamping: count).rawValue) == expected)
    }

    @Test(arguments: [(10, 5, 5), (10, 10, 9), (10, -1, 0), (1, 1, 0), (0, 0, 0)])
    func thresholdsAreBelowTheSize(_ size: Int, threshold: Int, expected: Int) {
        #expect(CreditWindow(size: size, refillThreshold: threshold).refillThreshold == expected)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func theWindowIsNeverExceededAndNeverStalls(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let window = CreditWindow(size: 1 + random.number(below: 20), refillThreshold: random.number(below: 20))
            let size = Int(window.size.rawValue)
            var receiver = ReceiveCredit(window)
            var sender = SendCredit(window.size)
            for _ in 0..<200 {
                if Bool.random(using: &random), sender.take() {
                    let isExpected = receiver.payloadArrived()
                    #expect(isExpected, "seed \(seed)")
                } else if receiver.unconsumedCount > 0 {
                    if let requestN = receiver.payloadConsumed() { _ = sender.add(requestN) }
                }
                #expect(Int(sender.count) == receiver.outstandingCount, "seed \(seed)")
                #expect(receiver.outstandingCount + receiver.unconsumedCount <= size, "seed \(seed)")
                #expect(receiver.outstandingCount + receiver.unconsumedCount > 0, "seed \(seed)")
            }
        }
    }
}
