import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// Processes that are killed while they save, transfer and remove files.
///
/// `POWERSYNC_KILLS` says how many are killed at random; 10 by default.
@Suite(.serialized, .timeLimit(.minutes(60))) struct AttachmentKillTests {
    private static let kills = ProcessInfo.processInfo.environment["POWERSYNC_KILLS"].flatMap(Int.init) ?? 10
    private static let seed: UInt64 = 20_261_121

    private func task(_ name: String, in directory: URL) -> WorkerTask {
        var task = WorkerTask(.attachments, path: directory.appending(path: "a.db").path)
        task.filesPath = directory.path
        task.name = name
        return task
    }

    @Test(arguments: AttachmentDeath.allCases)
    func atAPoint(_ death: AttachmentDeath) async throws {
        try await withTemporaryDirectory { directory in
            var state = AttachmentKillState(directory: directory)
            var first = task("first", in: directory)
            first.count = 12
            let worker = try WorkerProcess(argument: first.argument())
            state.read(await worker.remainingLines())
            #expect(await worker.waitForExit() == 0)

            var second = task("second", in: directory)
            second.death = death
            // A worker that passes its point alive ends by itself, with 0.
            second.count = 2 * WorkerAttachments.stepCount
            let dying = try WorkerProcess(argument: second.argument())
            state.read(await dying.remainingLines())
            #expect(await dying.waitForExit() == SIGKILL, "the worker has not come to the point")
            try await state.check()
        }
    }

    @Test(arguments: [seed])
    func atAnyMoment(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withTemporaryDirectory { directory in
            var state = AttachmentKillState(directory: directory)
            for kill in 0..<AttachmentKillTests.kills {
                var task = task("w\(kill)", in: directory)
                task.firstNumber = random.number(below: WorkerAttachments.stepCount)
                let worker = try WorkerProcess(argument: task.argument())
                // Now and then while it still opens, verifies and starts.
                if random.number(below: 4) > 0 { try await worker.wait(for: WorkerTask.Line.open) }
                try await ContinuousClock().sleep(for: .microseconds(random.number(below: 120_000)))
                await worker.kill()
                state.read(await worker.remainingLines())
                try await state.check()
            }
        }
    }
}
