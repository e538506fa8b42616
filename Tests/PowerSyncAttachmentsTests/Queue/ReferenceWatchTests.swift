import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1)))
struct ReferenceWatchTests {
    private struct Broken: Error {}

    /// Streams of references that a test fills.
    private final class Source: Sendable {
        typealias Items = AsyncThrowingStream<[WatchedAttachmentItem], any Error>

        private let streams = NIOLockedValueBox<[Items.Continuation]>([])
        private let changes = Signal()

        @Sendable
        func open() throws -> Items {
            let (stream, continuation) = Items.makeStream()
            streams.withLockedValue { $0.append(continuation) }
            changes.fire()
            return stream
        }

        func stream(_ number: Int) async throws -> Items.Continuation {
            try await changes.wait { streams.withLockedValue { $0.count >= number ? $0[number - 1] : nil } }
        }
    }

    /// Remembers elements.
    private final class Sink: Sendable {
        private let processed = NIOLockedValueBox<[[String]]>([])
        private let changes = Signal()
        private let isHeld: NIOLockedValueBox<Bool>

        init(isHeld: Bool = false) { self.isHeld = NIOLockedValueBox(isHeld) }

        var elements: [[String]] { processed.withLockedValue { $0 } }

        func wait(for count: Int) async throws {
            try await changes.wait { elements.count >= count ? () : nil }
        }

        func release() {
            isHeld.withLockedValue { $0 = false }
            changes.fire()
        }

        func process(_ items: [WatchedAttachmentItem]) async throws {
            processed.withLockedValue { $0.append(items.map(\.id)) }
            changes.fire()
            try await changes.wait { isHeld.withLockedValue { $0 ? nil : () } }
            if items.first?.id == "broken" { throw Broken() }
        }
    }

    private let clock = TestClock()
    private let log = RecordingLogger()

    private func watch(_ source: Source, _ sink: Sink) -> ReferenceWatch {
        ReferenceWatch(
            references: source.open,
            process: { items, _ in try await sink.process(items) },
            clock: ElapsedClock(clock),
            now: { Date(timeIntervalSince1970: 0) },
            logger: log
        )
    }

    private func items(_ id: String) -> [WatchedAttachmentItem] {
        [WatchedAttachmentItem(id: id, fileExtension: "jpg")]
    }

    @Test
    func streamThatThrowsIsWatchedAgainAfterWaitsThatDouble() async throws {
        let (source, sink) = (Source(), Sink())
        let task = Task { await watch(source, sink).run() }
        for (number, wait) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
            try await source.stream(number + 1).finish(throwing: Broken())
            try await clock.waitForTimer(of: .seconds(wait))
            clock.advance(by: .seconds(wait))
        }
        #expect(log.messages(.error).count == 8)
        task.cancel()
        await task.value
    }

    @Test
    func processedElementSetsTheWaitBack() async throws {
        let (source, sink) = (Source(), Sink())
        let task = Task { await watch(source, sink).run() }
        try await source.stream(1).finish(throwing: Broken())
        try await clock.waitForTimer(of: .seconds(1))
        clock.advance(by: .seconds(1))
        let second = try await source.stream(2)
        second.yield(items("a"))
        try await sink.wait(for: 1)
        second.yield(items("broken"))
        try await clock.waitForTimer(of: .seconds(1))
        #expect(sink.elements == [["a"], ["broken"]])
        task.cancel()
        await task.value
    }

    @Test
    func whileAnElementIsProcessedOnlyTheNewestOneWaits() async throws {
        let (source, sink) = (Source(), Sink(isHeld: true))
        let task = Task { await watch(source, sink).run() }
        let stream = try await source.stream(1)
        stream.yield(items("1"))
        try await sink.wait(for: 1)
        // The stream ends when the reader has taken everything.
        for id in 2...9 { stream.yield(items("\(id)")) }
        stream.finish()
        sink.release()
        await task.value
        #expect(sink.elements.first == ["1"])
        #expect(sink.elements.last == ["9"])
    }

    @Test
    func streamThatEndsNormallyEndsTheWatchQuietly() async throws {
        let (source, sink) = (Source(), Sink())
        let task = Task { await watch(source, sink).run() }
        try await source.stream(1).finish()
        await task.value
        #expect(log.messages(.error).isEmpty)
    }
}
