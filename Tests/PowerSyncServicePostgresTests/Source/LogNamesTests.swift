import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// What logs of servers are called, one after the other.
@Suite struct LogNamesTests {
    private static func log(_ timeline: UInt32, system: String = "77", database: String = "5") -> LogNames.Log {
        LogNames.Log(system: system[...], timeline: timeline, database: database[...])
    }

    private static func history(_ name: String) -> SourceHistory { SourceHistory(rawValue: name) }

    private func expectName(_ name: String, of log: LogNames.Log, _ names: inout LogNames) {
        let seen = names.see(log)
        #expect(seen == name)
    }

    private func expect(
        _ log: LogNames.Log,
        after other: LogNames.Log,
        through timelines: Set<UInt32>,
        goesOn: Bool,
        _ names: inout LogNames
    ) {
        let learnt = names.learn(log, after: other, through: timelines)
        #expect(learnt == goesOn)
    }

    @Test func aLogIsReadFromTheNameOfItsHistory() {
        #expect(Self.log(26).name == "77.0000001A.5")
        #expect(LogNames.Log(Self.history("77.0000001A.5")) == Self.log(26))
        #expect(LogNames.Log(Self.history("77.0000001A.5~00000000/0A~00000000/0B")) == Self.log(26))
        for other in ["", "77", "77.1", "77.x.5", "77.1.5.6", "77..5", "d0a1"] {
            #expect(LogNames.Log(Self.history(other)) == nil, "\(other)")
        }
    }

    @Test func aLogThatGoesOnWithTheOneBeforeHasItsName() {
        var names = LogNames()
        expectName("77.00000001.5", of: Self.log(1), &names)
        #expect(names.predecessor(of: Self.log(1), known: nil) == nil)
        for timeline: UInt32 in [2, 4] {
            let before = Self.log(timeline == 2 ? 1 : 2)
            #expect(names.predecessor(of: Self.log(timeline), known: nil) == before)
            expect(Self.log(timeline), after: before, through: [1, 2, 3], goesOn: true, &names)
            #expect(names.predecessor(of: Self.log(timeline), known: nil) == nil)
            expectName("77.00000001.5", of: Self.log(timeline), &names)
        }
    }

    /// One that has started after the fail-over, and has stored what it calls the log.
    @Test func aLogThatAnotherProcessHasNamedHasThatName() {
        var names = LogNames()
        expectName("77.00000001.5", of: Self.log(1), &names)
        expect(Self.log(2), after: Self.log(1), through: [1], goesOn: true, &names)
        expectName("77.00000001.5", of: Self.log(2), &names)
        let stored = Self.history("77.00000002.5~00000000/0A")
        #expect(names.predecessor(of: Self.log(2), known: stored) == nil)
        let seen = names.see(Self.log(2), knowing: stored)
        #expect(seen == "77.00000002.5")
        expectName("77.00000002.5", of: Self.log(2), &names)
    }

    /// A process that starts after the fail-over knows it from what is stored.
    @Test func aLogThatGoesOnWithTheStoredOneHasItsName() {
        var names = LogNames()
        // Somebody asked for something else before.
        expectName("77.00000003.5", of: Self.log(3), &names)
        let stored = Self.history("77.00000001.5~00000000/0A")
        #expect(names.predecessor(of: Self.log(3), known: stored) == Self.log(1))
        expect(Self.log(3), after: Self.log(1), through: [1, 2], goesOn: true, &names)
        expectName("77.00000001.5", of: Self.log(3), &names)
        #expect(names.predecessor(of: Self.log(3), known: stored) == nil)
    }

    @Test func aLogThatBeganElsewhereHasANameOfItsOwn() {
        var names = LogNames()
        _ = names.see(Self.log(2))
        // Promoted from the first timeline, as the other one was.
        #expect(names.predecessor(of: Self.log(3), known: nil) == Self.log(2))
        expect(Self.log(3), after: Self.log(2), through: [1], goesOn: false, &names)
        #expect(names.predecessor(of: Self.log(3), known: nil) == nil)
        #expect(names.predecessor(of: Self.log(3), known: Self.history("77.00000002.5")) == nil)
        expectName("77.00000003.5", of: Self.log(3), &names)
        // An earlier timeline is no successor, and neither is another server or database.
        for other in [Self.log(1), Self.log(4, system: "78"), Self.log(4, database: "6")] {
            #expect(names.predecessor(of: other, known: Self.history("77.00000003.5")) == nil)
            expectName(other.name, of: other, &names)
        }
    }

    @Test func timelinesAreReadFromTheFileOfTheServer() {
        let file = "1\t0/3000158\tno recovery target specified\n\n2\t0/40000A0\tbefore 2000-01-01 00:00:00+00\n"
        #expect(LogNames.timelines(file) == [1, 2])
        #expect(LogNames.timelines("") == [])
        #expect(LogNames.timelines("# x\n-1\t\n99999999999\t0/1\t\n") == [])
    }
}
