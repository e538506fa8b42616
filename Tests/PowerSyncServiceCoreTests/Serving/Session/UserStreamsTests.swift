import Testing

@testable import PowerSyncServiceCore

@Suite struct UserStreamsTests {
    @Test func aUserHasAsManyStreamsAsTheLimitSays() throws {
        let streams = UserStreams(limit: 2)
        let first = try streams.enter(StreamClient(userID: "a"))
        var second: UserStreams.Lease? = try streams.enter(StreamClient(userID: "a"))
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter(StreamClient(userID: "a")) }
        let other = try streams.enter(StreamClient(userID: "b"))
        second = nil
        _ = second
        let third = try streams.enter(StreamClient(userID: "a"))
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter(StreamClient(userID: "a")) }
        withExtendedLifetime((first, third, other)) {}
    }

    @Test func whatIsGivenBackIsFreeOnceAndAtOnce() throws {
        let streams = UserStreams(limit: 2)
        let (first, second) = (
            try streams.enter(StreamClient(userID: "a")), try streams.enter(StreamClient(userID: "a"))
        )
        first.release()
        first.release()
        #expect(streams.streamCount == 1)
        let reservation = try streams.reserve("a")
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.reserve("a") }
        reservation.release()
        reservation.release()
        second.release()
        #expect(streams.userCount == 0)
        #expect(streams.endedCount == 2)
    }

    @Test func aReservationCountsUntilAStreamHasIt() throws {
        let streams = UserStreams(limit: 2)
        var reservation: UserStreams.Reservation? = try streams.reserve("a")
        let first = try streams.enter(StreamClient(userID: "a"))
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.reserve("a") }
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.enter(StreamClient(userID: "a")) }
        var second: UserStreams.Lease? = try streams.enter(StreamClient(userID: "a"), with: reservation)
        // It has been taken, and counts no more.
        #expect(throws: UserStreams.Overflow(limit: 2)) {
            _ = try streams.enter(StreamClient(userID: "a"), with: reservation)
        }
        reservation = nil
        #expect(throws: UserStreams.Overflow(limit: 2)) { _ = try streams.reserve("a") }
        second = nil
        #expect(second == nil)
        reservation = try streams.reserve("a")
        #expect(reservation != nil)
        reservation = nil
        let third = try streams.enter(StreamClient(userID: "a"))
        withExtendedLifetime((first, third)) {}
        #expect(streams.streamCount == 2)
    }

    @Test func whatAClientSaysIsCutWhateverItsCharactersAre() throws {
        // One character for people.
        let endless = "e" + String(repeating: "\u{301}", count: 30_000)
        try #require(endless.count == 1)
        let agent = StreamClient(userID: "a", userAgent: endless).userAgent
        #expect(agent.unicodeScalars.count == 200)
        #expect(agent.utf8.count <= 800)
        #expect(StreamClient(userID: "a", userAgent: "an app/1.0").userAgent == "an app/1.0")
    }

    @Test func usersWithoutStreamsAreForgotten() throws {
        let streams = UserStreams(limit: 2)
        do {
            let places = [
                try streams.enter(StreamClient(userID: "a")), try streams.enter(StreamClient(userID: "a")),
                try streams.enter(StreamClient(userID: "b")),
            ]
            #expect(streams.userCount == 2)
            withExtendedLifetime(places) {}
        }
        #expect(streams.userCount == 0)
    }
}
