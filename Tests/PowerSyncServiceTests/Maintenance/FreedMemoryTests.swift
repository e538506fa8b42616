import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncService

@Suite(.timeLimit(.minutes(1))) struct FreedMemoryTests {
    @Test func memoryIsGivenBackWhenManyStreamsHaveEnded() async throws {
        let clock = TestClock()
        let (ended, count) = (NIOLockedValueBox(1_000), NIOLockedValueBox(0))
        let job = FreedMemoryJob(endedStreams: { ended.withLockedValue(\.self) }, clock: clock) {
            count.withLockedValue { $0 += 1 }
        }
        let running = Task { try await job.run() }
        for (more, expected) in [(0, 0), (99, 0), (1, 1), (0, 1), (5_000, 2)] {
            try await clock.waitForTimer(of: FreedMemoryJob.interval)
            ended.withLockedValue { $0 += more }
            clock.advance(by: FreedMemoryJob.interval)
            try await clock.waitForTimer(of: FreedMemoryJob.interval)
            #expect(count.withLockedValue(\.self) == expected)
        }
        running.cancel()
        try await running.value
    }

    /// Not with the sanitizers, which allocate in their own way.
    private static let isGlibcAsked =
        FileManager.default.fileExists(atPath: "/proc/self/statm")
        && dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

    @Test(.enabled(if: FreedMemoryTests.isGlibcAsked))
    func whatWasFreedBetweenThingsInUseIsGivenBack() async throws {
        var pieces: [[UInt8]?] = (0..<40_000).map { _ in [UInt8](repeating: 1, count: 4_000) }
        for index in pieces.indices where !index.isMultiple(of: 100) { pieces[index] = nil }
        let before = try Self.residentPages()
        await FreedMemory.giveBack()
        let after = try Self.residentPages()
        // 160 MB were made.
        #expect(before - after > 20_000, "\(before) and \(after) pages")
        withExtendedLifetime(pieces) {}
    }

    private static func residentPages() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }
}
