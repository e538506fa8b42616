import Testing

@testable import PowerSyncServiceCore

/// Clients that have left.
@Suite struct RecentClientsTests {
    private static func client(_ number: Int) -> StreamClient {
        StreamClient(userID: "u\(number)", clientID: "c", userAgent: "app")
    }

    @Test func aClientIsThereOnceWhateverItDid() {
        var recent = RecentClients()
        recent.ended(Self.client(1), openedAt: 10, operations: 2, bytes: 20, at: 30)
        recent.ended(Self.client(2), openedAt: 11, operations: 0, bytes: 0, at: 40)
        recent.ended(Self.client(1), openedAt: 45, operations: 1, bytes: 5, at: 50)
        let list = recent.list(at: 60)
        #expect(list.map(\.client.userID) == ["u1", "u2"])
        #expect(list[0].streams == 2 && list[0].firstSeen == 10 && list[0].lastSeen == 50)
        #expect(list[0].operations == 3 && list[0].bytes == 25)
    }

    @Test func itIsForgottenAfterHours() {
        var recent = RecentClients()
        recent.ended(Self.client(1), openedAt: 0, operations: 0, bytes: 0, at: 0)
        recent.ended(Self.client(2), openedAt: 0, operations: 0, bytes: 0, at: 1)
        #expect(recent.list(at: RecentClients.memory + 0.5).map(\.client.userID) == ["u2"])
        #expect(recent.list(at: RecentClients.memory + 1.5).isEmpty)
    }

    @Test func memoryIsBounded() {
        var recent = RecentClients()
        let count = RecentClients.maximumCount + 500
        for number in 0..<count {
            recent.ended(Self.client(number), openedAt: 0, operations: 0, bytes: 0, at: Double(number))
        }
        let list = recent.list(at: Double(count))
        #expect(list.count <= RecentClients.maximumCount && list.count >= RecentClients.maximumCount * 9 / 10)
        #expect(list.first?.client.userID == "u\(count - 1)")
        var long = RecentClients()
        let name = String(repeating: "x", count: 100_000)
        long.ended(StreamClient(userID: name, clientID: name), openedAt: 0, operations: 0, bytes: 0, at: 0)
        #expect((long.list(at: 1).first?.client.userID.utf8.count ?? .max) < 2000)
    }

    @Test func aStreamThatEndsLeavesItsClient() throws {
        let streams = UserStreams(limit: 2, now: { 7 })
        try streams.enter(StreamClient(userID: "a", clientID: "c")).release()
        #expect(streams.recentClients().map(\.client.userID) == ["a"])
        #expect(streams.totals == UserStreams.Totals())
    }
}
