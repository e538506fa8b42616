import Testing

@testable import HTTPConnections

/// How many connections are served, and how many are told that there are too many.
@Suite struct ConnectionCountTests {
    @Test func placesAreFreeAgainAndRefusingAgainIsLoggedAgainWhenHalfOfThemWereFree() {
        let count = ConnectionCount(limit: 2)
        #expect(count.began() == .admitted)
        #expect(count.began() == .admitted)
        #expect(count.began() == .refused(isFirst: true))
        #expect(count.began() == .refused(isFirst: false))
        for _ in 0..<14 { #expect(count.began() == .refused(isFirst: false)) }
        #expect(count.began() == .dropped)
        count.ended(.dropped)
        count.ended(.refused(isFirst: false))
        #expect(count.began() == .refused(isFirst: false))
        count.ended(.admitted)
        #expect(count.began() == .admitted)
        count.ended(.refused(isFirst: false))
        #expect(count.began() == .refused(isFirst: true))
    }

    @Test func theLimitStaysBelowThatOfOpenFiles() {
        #expect(ConnectionCount.limit(openFiles: 150, cores: 2) == 78)
        #expect(ConnectionCount.limit(openFiles: 1024, cores: 8) == 928)
        #expect(ConnectionCount.limit(openFiles: 20, cores: 2) == 16)
        #expect(ConnectionCount.limit(openFiles: .max, cores: 2) > 1_000_000)
        #expect(ConnectionCount.limitOfProcess >= 16)
        for connections in [16, 500, 20_000] {
            let openFiles = ConnectionCount.openFiles(for: connections, cores: 8)
            #expect(ConnectionCount.limit(openFiles: openFiles, cores: 8) == connections)
        }
    }
}
