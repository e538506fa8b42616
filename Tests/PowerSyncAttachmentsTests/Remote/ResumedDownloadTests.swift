import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Downloads that go on where an earlier attempt stopped.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct ResumedDownloadTests {
    private static let size = 1_000_000
    private static let content = Data.pattern(size)

    /// A storage whose first answer breaks off.
    private final class Storage: Sendable {
        let first = NIOLockedValueBox(true)

        func respond(
            to request: StorageServer.Request,
            etag: String? = "\"v1\"",
            laterETag: String? = nil,
            later: Data? = nil
        ) -> StorageServer.Response {
            let isFirst = first.withLockedValue { first in
                defer { first = false }
                return first
            }
            if isFirst {
                var response = StorageServer.serve(.init(bytes: content), etag: etag, to: request)
                response.end = .closed(after: 600_000)
                return response
            }
            return StorageServer.serve(.init(bytes: later ?? content), etag: laterETag ?? etag, to: request)
        }
    }

    private func partialSize(_ harness: TransferHarness) throws -> Int {
        try harness.downloaded().count
    }

    @Test
    func asksForTheRestOnlyAndOnlyIfTheFileIsTheSame() async throws {
        let storage = Storage()
        try await TransferHarness.run {
            storage.respond(to: $0)
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            #expect(try harness.folder.names == harness.partialNames)
            let size = try partialSize(harness)
            #expect(size > 0 && size <= 600_000)

            let steps = try await harness.download()
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
            #expect(try harness.folder.names == ["1.jpg.download.pstmp"])
            let request = try #require(harness.server.received.last)
            #expect(harness.server.received.count == 2)
            #expect(request.header("Range") == "bytes=\(size)-")
            #expect(request.header("If-Range") == "\"v1\"")
            #expect(steps.first == .init(bytes: Int64(size), total: 1_000_000))
            #expect(steps.last == .init(bytes: 1_000_000, total: 1_000_000))
        }
    }

    @Test
    func startsOverWhenTheFileHasChanged() async throws {
        let storage = Storage()
        let later = Data.pattern(700_001)
        try await TransferHarness.run {
            storage.respond(to: $0, laterETag: "\"v2\"", later: later)
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            try await harness.download()
            #expect(try harness.downloaded() == later)
            #expect(harness.server.received.count == 2)
        }
    }

    @Test
    func startsOverWhenTheStorageDoesNotKeepToTheRules() async throws {
        // Each answers a request for the rest wrongly; the third request, for the whole, is answered well.
        let answers: [@Sendable (Int) -> StorageServer.Response] = [
            { _ in .init(status: .rangeNotSatisfiable) },
            { start in
                .init(
                    status: .partialContent,
                    headers: ["ETag": "\"v2\"", "Content-Range": "bytes \(start)-999999/1000000"]
                )
            },
            { start in .init(status: .partialContent, headers: ["Content-Range": "bytes \(start + 1)-999999/1000000"])
            },
            { start in .init(status: .partialContent, headers: ["Content-Range": "bytes \(start)-1999999/2000000"]) },
            { start in .init(status: .partialContent, headers: ["Content-Range": "bytes \(start)-999998/1000000"]) },
            { _ in .init(status: .partialContent, headers: ["Content-Range": "garbage"]) },
            { _ in .init(status: .partialContent) },
        ]
        for answer in answers {
            let storage = Storage()
            try await TransferHarness.run { request in
                let range = request.header("Range")?.dropFirst("bytes=".count).dropLast()
                return range.flatMap { Int($0) }.map(answer) ?? storage.respond(to: request)
            } _: { harness async throws in
                #expect(await harness.downloadError()?.code == .connection)
                try await harness.download()
                #expect(try harness.downloaded() == ResumedDownloadTests.content)
                #expect(harness.server.received.map { $0.header("Range") != nil } == [false, true, false])
            }
        }
    }

    @Test(arguments: [nil, "W/\"v1\""])
    func needsAStrongTagOrADigestThatTellsWhetherThePartsBelongTogether(etag: String?) async throws {
        let storage = Storage()
        try await TransferHarness.run {
            storage.respond(to: $0, etag: etag)
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            #expect(try harness.folder.names == [])
            try await harness.download()
            #expect(harness.server.received.last?.header("Range") == nil)
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
        }
        let other = Storage()
        let digest = ResumedDownloadTests.content.sha256
        try await TransferHarness.run(
            { other.respond(to: $0, etag: etag) },
            target: {
                AttachmentHTTPRequest(url: $0, sha256: digest)
            }
        ) { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            try await harness.download()
            #expect(harness.server.received.last?.header("Range") != nil)
            #expect(harness.server.received.last?.header("If-Range") == nil)
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
        }
    }

    /// Of parts that do not belong together is noticed by the digest, and starts over the next time.
    @Test
    func mixedParts() async throws {
        let storage = Storage()
        let later = Data(repeating: 7, count: ResumedDownloadTests.size)
        try await TransferHarness.run(
            { storage.respond(to: $0, etag: nil, later: later) },
            target: {
                AttachmentHTTPRequest(url: $0, sha256: later.sha256)
            }
        ) { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            #expect(await harness.downloadError()?.code == .digestMismatch)
            #expect(try harness.folder.names == [])
            try await harness.download()
            #expect(try harness.downloaded() == later)
        }
    }

    @Test
    func trustsOnlyTheBytesThatAreKnownToBeOnTheDisk() async throws {
        try await TransferHarness.run {
            StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: $0)
        } _: { harness async throws in
            // As after a crash of the system: more bytes than were counted, and those are wrong.
            try harness.folder.write(
                Data.pattern(500_000) + Data(repeating: 0, count: 5000),
                to: harness.partialNames[0]
            )
            try harness.folder.write(
                Data(#"{"bytes":500000,"etag":"\"v1\"","total":1000000}"#.utf8),
                to: harness.partialNames[1]
            )
            try await harness.download()
            #expect(harness.server.received.map { $0.header("Range") } == ["bytes=500000-"])
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
        }
    }

    @Test
    func isNotDisturbedByAnotherOneToTheSamePath() async throws {
        let gate = StorageServer.Gate()
        let requests = NIOLockedValueBox(0)
        try await TransferHarness.run { request in
            let number = requests.withLockedValue { count in
                count += 1
                return count
            }
            var response = StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: request)
            switch number {
            case 1: response.end = .held(after: 300_000, until: gate)
            case 2: break
            default: response = .init(status: .notFound)
            }
            return response
        } _: { harness async throws in
            defer { gate.open() }
            let (transport, steps) = (harness.transport, TransferSteps())
            let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.path)
            let first = Task { try await transport.download(located, progress: steps.add) }
            // What has arrived behind that is too little to be written.
            try await steps.wait(for: 262_144)
            let size = try partialSize(harness)

            let error = await harness.downloadError()
            #expect(error?.code == .inProgress)
            #expect(error?.isRetriable == true)
            #expect(error?.description.contains("Another download of this file is going on") == true)
            #expect(try partialSize(harness) == size)
            // Nor by one that finds no file at the storage.
            await #expect(throws: AttachmentStorageError.notFound) { try await harness.download() }
            #expect(try partialSize(harness) == size)

            gate.open()
            try await first.value
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
            #expect(try harness.folder.names == ["1.jpg.download.pstmp"])
        }
    }

    @Test
    func goesOnWhenItsQueueStartsAgainADayLater() async throws {
        try await TransferHarness.run {
            StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: $0)
        } _: { harness async throws in
            try harness.folder.write(Data.pattern(500_000), to: harness.partialNames[0])
            try harness.folder.write(
                Data(#"{"bytes":500000,"etag":"\"v1\"","total":1000000}"#.utf8),
                to: harness.partialNames[1]
            )

            let queues = QueueHarness()
            // Files cannot be made older: the system knows when that was done.
            queues.date.withLockedValue { $0 = Date(timeIntervalSinceNow: 86_400) }
            let queue = queues.makeQueue(
                storage: .transport(harness.transport),
                directory: harness.folder.path,
                localStorage: FileManagerStorageAdapter()
            )
            try await queues.insert(Attachment(id: "1", filename: "1.jpg", state: .queuedDownload))
            try await queues.link("1")
            try await queue.startSync()
            try await queues.wait(for: "1", .synced)
            #expect(harness.server.received.map { $0.header("Range") } == ["bytes=500000-"])
            #expect(try harness.folder.read("1.jpg") == ResumedDownloadTests.content)
            #expect(try harness.folder.names == ["1.jpg"])
            try await queue.close()
            try await queues.database.close()
        }
    }

    @Test
    func ofAFileThatWasCompleteAlreadyAsksForItsLastByte() async throws {
        try await TransferHarness.run {
            StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: $0)
        } _: { harness async throws in
            try harness.folder.write(ResumedDownloadTests.content, to: harness.partialNames[0])
            try harness.folder.write(
                Data(#"{"bytes":1000000,"etag":"\"v1\"","total":1000000}"#.utf8),
                to: harness.partialNames[1]
            )
            try await harness.download()
            #expect(harness.server.received.map { $0.header("Range") } == ["bytes=999999-"])
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
            #expect(try harness.folder.names == [harness.partialNames[0]])
        }
    }

    @Test(
        arguments: [
            "", "{", "[]", #"{"bytes":-1,"etag":"\"v1\""}"#, #"{"bytes":0,"etag":"\"v1\""}"#,
            #"{"bytes":500001,"etag":"\"v1\""}"#,
            #"{"bytes":500000}"#, #"{"bytes":"x","etag":"\"v1\""}"#,
        ]
    )
    func withoutAReadableRecordStartsOver(record: String) async throws {
        try await TransferHarness.run {
            StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: $0)
        } _: { harness async throws in
            try harness.folder.write(Data(repeating: 1, count: 500_000), to: harness.partialNames[0])
            try harness.folder.write(Data(record.utf8), to: harness.partialNames[1])
            try await harness.download()
            #expect(harness.server.received.map { $0.header("Range") } == [nil])
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
            #expect(try harness.folder.names == [harness.partialNames[0]])
        }
    }

    /// A partial file without a record is replaced, and one that breaks off again goes on from the later place.
    @Test
    func severalInterruptions() async throws {
        let cuts = NIOLockedValueBox([300_000, 300_000, 300_000])
        try await TransferHarness.run { request in
            var response = StorageServer.serve(.init(bytes: ResumedDownloadTests.content), to: request)
            let cut = cuts.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
            if let cut { response.end = .closed(after: cut) }
            return response
        } _: { harness async throws in
            try harness.folder.write(Data(repeating: 1, count: 900_000), to: harness.partialNames[0])
            var sizes: [Int] = []
            for _ in 0..<3 {
                #expect(await harness.downloadError()?.code == .connection)
                sizes.append(try partialSize(harness))
            }
            try await harness.download()
            #expect(try harness.downloaded() == ResumedDownloadTests.content)
            #expect(sizes == sizes.sorted() && Set(sizes).count == 3)
            let ranges = harness.server.received.map { $0.header("Range") }
            #expect(ranges == [nil] + sizes.map { "bytes=\($0)-" })
        }
    }
}
