import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

/// Two processes on one file.
@Suite(.timeLimit(.minutes(2))) struct TwoProcessesTests {
    @Test(arguments: 0..<5)
    func bothOpenANewFileAndWriteToIt(round: Int) async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            let workers = try ["a", "b"].map { name in
                var task = WorkerTask(.write, path: file.path)
                task.name = name
                task.count = 30
                return try WorkerProcess(argument: task.argument())
            }
            for worker in workers {
                #expect(await worker.remainingLines().last == "30")
                #expect(await worker.waitForExit() == 0)
            }
            try await file.check { try await file.checkWrites($0, acknowledged: ["a": 30, "b": 30]) }
        }
    }

    @Test
    func oneWritesWhileTheOtherChangesTheSchema() async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            var writing = WorkerTask(.write, path: file.path)
            writing.count = 60
            var changing = WorkerTask(.changeSchema, path: file.path)
            changing.count = 6
            let workers = [
                try WorkerProcess(argument: writing.argument()), try WorkerProcess(argument: changing.argument()),
            ]
            #expect(await workers[0].remainingLines().last == "60")
            #expect(await workers[1].remainingLines().last == "6")
            try await file.check { try await file.checkWrites($0, acknowledged: ["w": 60]) }
        }
    }
}
