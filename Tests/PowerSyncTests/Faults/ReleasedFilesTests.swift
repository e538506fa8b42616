import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

#if os(Linux)
@Suite(.timeLimit(.minutes(1))) struct ReleasedFilesTests {
    @Test
    func nothingKeepsTheFileOpenAfterClosingWhateverWasGoingOn() async throws {
        try await withTemporaryDirectory { directory in
            let harness = SyncHarness(path: directory.appendingPathComponent("a.db").path)
            let openFiles = {
                let folder = "/proc/self/fd"
                let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                return files.compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
                }
                .filter { $0.contains(directory.lastPathComponent) }
            }
            let stream = try await harness.connectAndAccept()
            stream.send(.checkpoint(2, [.bucket("a", count: 2)]), .put("a", 1...1))
            try await harness.wait { $0.downloading }
            var results = try harness.database.watch("SELECT name FROM lists") { _ in 0 }.makeAsyncIterator()
            #expect(try await results.next() == [])
            try await harness.insert("x")
            #expect(try !openFiles().isEmpty)
            try await harness.database.close()
            #expect(try openFiles() == [])
        }
    }
}
#endif
