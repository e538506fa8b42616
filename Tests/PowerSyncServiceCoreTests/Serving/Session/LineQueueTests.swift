import NIOCore
import Testing

@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct LineQueueTests {
    @Test func sendingWaitsForTheReader() async throws {
        let queue = LineQueue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<100 { try await queue.send([ByteBuffer(string: "\(number)")]) }
                queue.finish(.completed)
            }
            var received: [String] = []
            while let lines = try await queue.next() { received += lines.map { String(buffer: $0) } }
            #expect(received == (0..<100).map(String.init))
            try await group.waitForAll()
        }
    }

    @Test func theFirstReasonToEndCounts() async throws {
        let queue = LineQueue()
        queue.finish(.shutdown)
        queue.finish(.completed)
        guard case .shutdown = queue.end else {
            Issue.record("\(String(describing: queue.end))")
            return
        }
        #expect(try await queue.next() == nil)
        await #expect(throws: CancellationError.self) { try await queue.send([ByteBuffer()]) }
    }

    @Test func whatComesBeforeTheFirstLineIsCancelledByTheEnd() async throws {
        let (queue, begun) = (LineQueue(), LineQueue())
        let opening = Task {
            try await queue.whileOpen {
                begun.offer(ByteBuffer(), isLast: true)
                // Never ended: only a cancellation ends the wait.
                return try await LineQueue().next() == nil
            }
        }
        #expect(try await begun.next()?.count == 1)
        queue.finish(.clientClosed)
        await #expect(throws: CancellationError.self) { _ = try await opening.value }
        await #expect(throws: CancellationError.self) {
            _ = try await queue.whileOpen { try await LineQueue().next() == nil }
        }
        #expect(try await LineQueue().whileOpen { true })
    }

    @Test func endingReleasesASender() async throws {
        let queue = LineQueue()
        let sending = Task { try await queue.send([ByteBuffer(string: "a")]) }
        queue.finish(.clientClosed)
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await queue.next() == nil)
    }

    @Test func aCancelledSenderTakesItsLineBack() async throws {
        let queue = LineQueue()
        let sending = Task { try await queue.send([ByteBuffer(string: "a")]) }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        queue.finish(.completed)
        #expect(try await queue.next() == nil)
    }

    @Test func aCancelledReaderStopsWaiting() async throws {
        let queue = LineQueue()
        let reading = Task { try await queue.next() }
        reading.cancel()
        await #expect(throws: CancellationError.self) { _ = try await reading.value }
    }

    @Test func anOfferGoesBeforeWhatWaits() async throws {
        let queue = LineQueue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            queue.offer(ByteBuffer(string: "old"))
            queue.offer(ByteBuffer(string: "new"))
            group.addTask { try await queue.send([ByteBuffer(string: "a"), ByteBuffer(string: "b")]) }
            #expect(try await queue.next() == [ByteBuffer(string: "new")])
            #expect(try await queue.next() == [ByteBuffer(string: "a"), ByteBuffer(string: "b")])
            try await group.waitForAll()
        }
    }

    @Test func theLastOfferEndsTheQueue() async throws {
        let queue = LineQueue()
        let sending = Task { try await queue.send([ByteBuffer(string: "a")]) }
        queue.offer(ByteBuffer(string: "last"), isLast: true)
        #expect(queue.end == nil)
        #expect(try await queue.next() == [ByteBuffer(string: "last")])
        #expect(try await queue.next() == nil)
        await #expect(throws: CancellationError.self) { try await sending.value }
        guard case .completed = queue.end else {
            Issue.record("\(String(describing: queue.end))")
            return
        }
    }

    @Test func linesAreWrittenWhenTheWriterComesBack() async throws {
        let queue = LineQueue()
        let sending = Task {
            try await queue.send([ByteBuffer(string: "a")])
            try await queue.waitUntilWritten()
            queue.finish(.completed)
        }
        #expect(try await queue.next() == [ByteBuffer(string: "a")])
        #expect(queue.end == nil)
        // That the writer asks for more means that the network has accepted the first line.
        #expect(try await queue.next() == nil)
        try await sending.value
    }

    @Test func nobodyWaitsForAWriterThatIsGone() async throws {
        let queue = LineQueue()
        let sending = Task {
            try await queue.send([ByteBuffer(string: "a")])
            try await queue.waitUntilWritten()
        }
        #expect(try await queue.next() == [ByteBuffer(string: "a")])
        queue.finish(.clientClosed)
        await #expect(throws: CancellationError.self) { try await sending.value }
    }
}
