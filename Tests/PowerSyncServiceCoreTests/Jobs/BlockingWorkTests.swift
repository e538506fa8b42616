import Dispatch
import Foundation
import Testing

@testable import PowerSyncServiceCore

/// Work that waits, beside tasks that go on.
@Suite(.timeLimit(.minutes(1))) struct BlockingWorkTests {
    private struct Hiccup: Error {}

    @Test func resultsAndErrorsComeBack() async throws {
        #expect(try await BlockingWork.run { 1 } == 1)
        await #expect(throws: Hiccup.self) { try await BlockingWork.run { throw Hiccup() } }
    }

    /// With as many pieces of work as there are threads for tasks, no task could end them if they waited there.
    @Test func tasksGoOnWhileWorkWaits() async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await BlockingWork.run { gate.wait() } } }
            group.addTask { for _ in 0..<count { gate.signal() } }
            try await group.waitForAll()
        }
    }
}
