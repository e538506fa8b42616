import Foundation
import TestSupport
import Testing

/// What a service needs depends on what there is, not on how long it runs: memory, storage, logs and files do not grow.
///
/// Each round changes a row of every user, and replaces another one; some clients leave meanwhile and come back with nothing. Every
/// ``roundsOfMeasurement`` rounds the storage is compacted beside them, as a daily job would, and the service is looked at.
///
/// `POWERSYNC_SOAK_MINUTES` says for how long, with each kind of databases; without it there are few measurements.
/// `POWERSYNC_SOAK_STREAMS` says how many clients there are; 40 by default.
@Suite(.timeLimit(.minutes(SoakLength.minutes + 3))) struct SoakTests {
    private static let roundsOfMeasurement = 5
    /// So that there is something to compare.
    private static let leastMeasurements = 12

    @Test(
        .enabled(if: ProcessMemory.isKnown),
        arguments: SoakService.Databases.allCases
    )
    func needsNoMoreAtTheEndThanBefore(_ databases: SoakService.Databases) async throws {
        let end = ContinuousClock.now + .seconds(60 * SoakLength.minutes)
        let service = try await SoakService(databases, users: SoakLength.streams)
        let clients = SoakClients(SoakLength.streams, of: service.port, token: service.makeToken())
        var generator = SeededGenerator(seed: 1)
        var footprints: [SoakService.Footprint] = []
        var round = 0
        while footprints.count < Self.leastMeasurements || ContinuousClock.now < end {
            let compaction = try service.compact()
            for _ in 0..<Self.roundsOfMeasurement {
                round += 1
                try await service.play(round)
                for _ in 0..<max(1, SoakLength.streams / 50) {
                    await clients.restart(generator.number(below: SoakLength.streams))
                }
                try await clients.wait(for: round)
            }
            #expect(await compaction.waitForExit() == 0, "\(compaction.said)")
            footprints.append(try service.footprint())
            if SoakLength.minutes > 0 { print("\(databases), round \(round): \(footprints[footprints.count - 1])") }
        }
        await clients.close()
        let (status, said) = await service.end()
        #expect(status == 0)
        #expect(said.allSatisfy { !$0.contains(" error ") && !$0.contains(" warning ") }, "\(said)")

        // In the first quarter it finds its size.
        let quarter = footprints.count / 4
        let (before, after) = (footprints[quarter..<2 * quarter], footprints.suffix(quarter))
        func expectNoGrowth(_ what: String, _ value: (SoakService.Footprint) -> Int, allowance: Int) {
            let (most, mostAfterwards) = (before.map(value).max() ?? 0, after.map(value).max() ?? 0)
            #expect(mostAfterwards <= most + most / 10 + allowance, "\(what) has grown: \(footprints)")
        }
        expectNoGrowth("the memory", \.memory, allowance: 8 << 20)
        expectNoGrowth("what is stored", \.stored, allowance: 1 << 20)
        // A log begins anew, or is forgotten, when it has some size.
        expectNoGrowth("what is logged", \.logged, allowance: 64 << 20)
        expectNoGrowth("the number of open files", \.files, allowance: 8)
    }
}

private enum SoakLength {
    static let minutes = number("POWERSYNC_SOAK_MINUTES") ?? 0
    static let streams = number("POWERSYNC_SOAK_STREAMS") ?? 40

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap(Int.init)
    }
}
