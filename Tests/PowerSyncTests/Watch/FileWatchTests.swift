import Foundation
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct FileWatchTests {
    private func append(_ text: String, to file: URL) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
        try handle.close()
    }

    /// A watch, and one element after any number of times that it tells.
    private struct Watched {
        let watch: FileWatch
        let changes: AsyncStream<Void>
        private let change: AsyncStream<Void>.Continuation

        init(_ file: URL) throws {
            let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            watch = try #require(FileWatch(path: file.path) { change.yield() })
            self.changes = changes
            self.change = change
        }

        func cancel() {
            watch.cancel()
            change.finish()
        }
    }

    @Test func eachArmedWriteIsTold() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let watched = try Watched(file)
            let watch = watched.watch
            var changes = watched.changes.makeAsyncIterator()
            for _ in 0..<3 {
                watch.arm()
                try append("x", to: file)
                #expect(await changes.next() != nil)
            }
            watched.cancel()
            #expect(await changes.next() == nil)
        }
    }

    @Test func unarmedWatchIsSilent() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let watched = try Watched(file)
            let watch = watched.watch
            watch.arm()
            try append("x", to: file)
            var changes = watched.changes.makeAsyncIterator()
            #expect(await changes.next() != nil)
            for _ in 0..<100 { try append("x", to: file) }
            watched.cancel()
            #expect(await changes.next() == nil)
        }
    }

    @Test(arguments: [true, false])
    func fileIsFoundAgainAfterItWasReplacedOrMadeAgain(isReplaced: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "file")
            try Data().write(to: file)
            let watched = try Watched(file)
            let watch = watched.watch
            var changes = watched.changes.makeAsyncIterator()
            watch.arm()
            if isReplaced {
                try Data("new".utf8).write(to: file, options: .atomic)
                #expect(await changes.next() != nil)
            } else {
                try FileManager.default.removeItem(at: file)
                #expect(await changes.next() != nil)
                watch.arm()
                try Data().write(to: file)
                #expect(await changes.next() != nil)
            }
            watch.arm()
            try append("x", to: file)
            #expect(await changes.next() != nil)
            watched.cancel()
        }
    }
}
