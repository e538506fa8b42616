import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// A download over HTTP.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct HTTPDownloadTests {
    @Test(
        arguments: [0, 1, 1_000_000],
        [true, false]
    )
    func writesTheExactBytesAnnouncedOrNot(size: Int, announcesLength: Bool) async throws {
        try await TransferHarness.run { _ in
            .init(body: .init(bytes: .pattern(size)), announcesLength: announcesLength)
        } target: {
            AttachmentHTTPRequest(url: $0, headers: ["X-Owner": "7"])
        } _: { harness async throws in
            let steps = try await harness.download()
            #expect(try harness.downloaded() == .pattern(size))
            #expect(try harness.folder.names == ["1.jpg.download.pstmp"])
            let total = announcesLength ? Int64(size) : nil
            #expect(steps.first == .init(bytes: 0, total: total))
            #expect(steps.last == .init(bytes: Int64(size), total: total))
            let request = try #require(harness.server.received.first)
            #expect(request.method == .GET)
            #expect(request.header("X-Owner") == "7")
            #expect(request.header("Range") == nil)
            #expect(request.header("Accept-Encoding") == "identity")
        }
    }

    @Test(arguments: [301, 400, 401, 403, 416, 429, 500, 502])
    func writesNothingBeforeTheStatusIsKnownToBeGood(_ status: Int) async throws {
        try await TransferHarness.run { _ in
            .init(status: .init(statusCode: status), body: .init(bytes: Data("<html>sorry</html>".utf8)))
        } _: { harness async throws in
            let error = await harness.downloadError()
            #expect(error?.code == .status)
            #expect(error?.httpStatus == status)
            #expect(error?.isRetriable == (status == 429 || status >= 500))
            #expect(try harness.folder.names == [])
        }
    }

    @Test(arguments: [404, 410])
    func ofAFileThatIsNotThereSaysSoAndGivesUpWhatWasThere(status: Int) async throws {
        try await TransferHarness.run { _ in
            .init(status: .init(statusCode: status))
        } _: { harness async throws in
            for name in harness.partialNames { try harness.folder.write(Data("old".utf8), to: name) }
            await #expect(throws: AttachmentStorageError.notFound) { try await harness.download() }
            #expect(try harness.folder.names == [])
        }
    }

    @Test(arguments: [0, 1, 500_000, 999_999])
    func thatBreaksOffIsAFailureThatMayBeTriedAgain(count: Int) async throws {
        try await TransferHarness.run { _ in
            .init(body: .init(pattern: 1_000_000), end: .closed(after: count))
        } _: { harness async throws in
            let error = await harness.downloadError()
            #expect(error?.code == .connection)
            #expect(error?.isRetriable == true)
            // Without a tag nothing of it is of use.
            #expect(try harness.folder.names == [])
        }
    }

    @Test
    func thatBreaksOffInAChunkedBodyIsAFailureAsWell() async throws {
        try await TransferHarness.run { _ in
            .init(body: .init(pattern: 1_000_000), end: .closed(after: 1_000_000), announcesLength: false)
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            #expect(try harness.folder.names == [])
        }
    }

    @Test
    func onWhichNothingMovesIsGivenUp() async throws {
        // Made before, so that nothing moves for as long as the client waits only when the server falls silent.
        let body = StorageServer.Content(pattern: 1_000_000)
        try await TransferHarness.run(
            { _ in
                .init(headers: ["ETag": "\"v1\""], body: body, end: .silent(after: 300_000))
            },
            readTimeout: .seconds(2)
        ) { harness async throws in
            let error = await harness.downloadError()
            #expect(error?.code == .timeout)
            #expect(error?.isRetriable == true)
            #expect(try harness.folder.names == harness.partialNames)
        }
    }

    @Test
    func thatIsCancelledEndsWithThatAndKeepsWhatIsThere() async throws {
        try await TransferHarness.run { _ in
            .init(headers: ["ETag": "\"v1\""], body: .init(pattern: 1_000_000), end: .silent(after: 600_000))
        } _: { harness async throws in
            let (transport, steps) = (harness.transport, TransferSteps())
            let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.path)
            let task = Task { try await transport.download(located, progress: steps.add) }
            try await steps.wait(for: 262_144)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try harness.folder.names == harness.partialNames)
        }
    }

    /// A digest, given in one way or another.
    enum Announcement: CaseIterable {
        case request, reprDigest, contentDigest, amzChecksum

        func header(_ digest: Data) -> HTTPHeaders {
            let text = digest.base64EncodedString()
            return switch self {
            case .request: [:]
            case .reprDigest: ["Repr-Digest": "sha-512=:AAAA:, sha-256=:\(text):"]
            case .contentDigest: ["Content-Digest": "SHA-256=:\(text):"]
            case .amzChecksum: ["x-amz-checksum-sha256": text]
            }
        }
    }

    @Test(
        arguments: Announcement.allCases,
        [true, false]
    )
    func isCheckedAgainstTheDigestAndDeletedWhenThatDiffers(announcement: Announcement, isRight: Bool) async throws {
        let content = Data.pattern(400_000)
        let digest = isRight ? content.sha256 : Data("other".utf8).sha256
        try await TransferHarness.run(
            { request in
                StorageServer.serve(.init(bytes: content), to: request, headers: announcement.header(digest))
            },
            target: { AttachmentHTTPRequest(url: $0, sha256: announcement == .request ? digest : nil) }
        ) { harness async throws in
            if isRight {
                try await harness.download()
                #expect(try harness.downloaded() == content)
            } else {
                let error = await harness.downloadError()
                #expect(error?.code == .digestMismatch)
                #expect(error?.isRetriable == true)
                #expect(try harness.folder.names == [])
            }
        }
    }

    @Test(arguments: [999, 1001], [true, false])
    func mustHaveTheSizeThatTheAppKnows(size: Int, announcesLength: Bool) async throws {
        try await TransferHarness.run(
            { _ in
                .init(body: .init(bytes: .pattern(size)), announcesLength: announcesLength)
            },
            target: { AttachmentHTTPRequest(url: $0, size: 1000) }
        ) { harness async throws in
            let error = await harness.downloadError()
            #expect(error?.code == .sizeMismatch)
            #expect(try harness.folder.names == [])
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func followsRedirectsAndKeepsTheAppsHeadersFromAnotherHost(status: Int) async throws {
        try await StorageServer.run { _ in
            .init(body: .init(bytes: .pattern(1000)))
        } _: { other in
            let otherURL = "\(other.url)/there"
            try await TransferHarness.run(
                { request in
                    switch request.uri {
                    case "/files/1?signature=secret":
                        .init(status: .init(statusCode: status), headers: ["Location": "/here"])
                    default:
                        .init(status: .init(statusCode: status), headers: ["Location": otherURL])
                    }
                },
                target: { AttachmentHTTPRequest(url: $0, headers: ["Authorization": "Bearer a", "apikey": "b"]) }
            ) { harness async throws in
                try await harness.download()
                #expect(try harness.downloaded() == .pattern(1000))
                #expect(harness.server.received.map(\.uri) == ["/files/1?signature=secret", "/here"])
                #expect(harness.server.received.allSatisfy { $0.header("apikey") == "b" })
                let request = try #require(other.received.first)
                #expect(request.header("Authorization") == nil)
                #expect(request.header("apikey") == nil)
            }
        }
    }

    @Test
    func doesNotRunInCircles() async throws {
        try await TransferHarness.run { _ in
            .init(status: .found, headers: ["Location": "/files/1"])
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .unexpectedResponse)
            #expect(harness.server.received.count == 6)
        }
    }

    @Test(
        arguments: ["file:///etc/passwd", "ftp://a/b", "unix:/run/x"]
    )
    func doesNotFollowARedirectToSomethingElseThanTheWeb(location: String) async throws {
        try await TransferHarness.run { _ in
            .init(status: .found, headers: ["Location": location])
        } _: { harness async throws in
            #expect(await harness.downloadError()?.httpStatus == 302)
        }
    }

    @Test
    func partThatNobodyAskedForIsAnError() async throws {
        try await TransferHarness.run { _ in
            .init(
                status: .partialContent,
                headers: ["Content-Range": "bytes 0-9/20"],
                body: .init(bytes: .pattern(10))
            )
        } _: { harness async throws in
            #expect(await harness.downloadError()?.code == .unexpectedResponse)
            #expect(try harness.folder.names == [])
        }
    }

    /// A text of 1,080 bytes, and the gzip member that zlib makes of it.
    private enum Compressed {
        static let text = Data(String(repeating: "The file as it was before. ", count: 40).utf8)
        static let gzip = Data([
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0xc9, 0x48, 0x55, 0x48, 0xcb, 0xcc, 0x49,
            0x55, 0x48, 0x2c, 0x56, 0xc8, 0x2c, 0x51, 0x28, 0x07, 0x52, 0x49, 0xa9, 0x69, 0xf9, 0x45, 0xa9, 0x7a, 0x0a,
            0x21, 0xa3, 0x52, 0xa3, 0x52, 0xa3, 0x52, 0xa3, 0x52, 0xd8, 0xa4, 0x00, 0xb6, 0x87, 0x84, 0x47, 0x38, 0x04,
            0x00, 0x00,
        ])
        /// What holds for the member only.
        static let headers: HTTPHeaders = [
            "Content-Encoding": "gzip", "ETag": "\"v1\"", "x-amz-checksum-sha256": gzip.sha256.base64EncodedString(),
        ]
    }

    @Test(
        arguments: ["gzip", "GZip", "gzip,aws-chunked", "gzip, base64"]
    )
    func ofAFileThatTheStorageCompressesIsTheFileAsItWasBefore(coding: String) async throws {
        // libcurl takes nothing but the names of what it knows.
        guard HTTPStack.current == .nio || coding == "gzip" else { return }
        var headers = Compressed.headers
        headers.replaceOrAdd(name: "Content-Encoding", value: coding)
        try await TransferHarness.run(
            { [headers] _ in .init(headers: headers, body: .init(bytes: Compressed.gzip)) },
            target: {
                AttachmentHTTPRequest(url: $0, size: Int64(Compressed.text.count), sha256: Compressed.text.sha256)
            }
        ) { harness async throws in
            try await harness.download()
            #expect(try harness.downloaded() == Compressed.text)
            #expect(try harness.folder.names == ["1.jpg.download.pstmp"])
        }
    }

    /// At least so many zeros as a gzip member without its end: after the first one, "repeat the last byte 258 times" in 13 bits each.
    private static func zeros(_ count: Int) -> Data {
        // The last block, with fixed codes; the literal 0; the repetition.
        let bits =
            [1, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0]
            + Array(repeating: [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0], count: 16).joined()
        let bytes = stride(from: 0, to: 15 * 8, by: 8).map { start in
            bits[start..<(start + 8)].reversed().reduce(0 as UInt8) { $0 << 1 | UInt8($1) }
        }
        var data = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]) + bytes[..<2]
        // Eight repetitions are 13 bytes.
        for _ in 0...(count / (8 * 258)) { data.append(contentsOf: bytes[2...]) }
        return data
    }

    @Test
    func ofACompressedFileEndsWhenItBecomesLongerThanItShouldBe() async throws {
        // What ends too early is far behind what is too much.
        let body = Self.zeros(64 << 20)
        try await TransferHarness.run(
            { _ in .init(headers: ["Content-Encoding": "gzip"], body: .init(bytes: body)) },
            target: { AttachmentHTTPRequest(url: $0, size: 1_000_000) }
        ) { harness async throws in
            #expect(await harness.downloadError()?.code == .sizeMismatch)
            // Nothing of it fills the disk.
            #expect(try harness.folder.names == [])
        }
    }

    @Test
    func ofACompressedFileWhoseSizeNobodyKnowsEndsAtALimitAndOfAnotherFileDoesNot() {
        let limit = DownloadExpectation.largestDecompressedFile
        for (isDecompressed, size, bytes, isTooMuch) in [
            (true, nil, limit, false), (true, nil, limit + 1, true), (false, nil, limit + 1, false),
            (true, limit + 2, limit + 1, false), (true, limit + 2, limit + 3, true), (true, 5, 6, true),
        ] as [(Bool, Int64?, Int64, Bool)] {
            let expectation = DownloadExpectation(
                total: nil,
                size: size,
                isDecompressed: isDecompressed,
                request: "GET file"
            )
            let result = Result { try expectation.check(bytesSoFar: bytes) }
            let isRefused =
                if case .failure(let error as AttachmentTransferError) = result {
                    error.code == .sizeMismatch
                } else {
                    false
                }
            #expect(isRefused == isTooMuch, "\(bytes) of \(size ?? -1)")
        }
    }

    @Test
    func ofACompressedFileThatBreaksOffStartsOverAPartOfWhatIsCompressedIsNothing() async throws {
        let isFirst = NIOLockedValueBox(true)
        try await TransferHarness.run(
            { _ in
                var response = StorageServer.Response(headers: Compressed.headers, body: .init(bytes: Compressed.gzip))
                if isFirst.withLockedValue({ exchange(&$0, with: false) }) {
                    response.end = .closed(after: Compressed.gzip.count - 1)
                }
                return response
            },
            target: { AttachmentHTTPRequest(url: $0, sha256: Compressed.text.sha256) }
        ) { harness async throws in
            #expect(await harness.downloadError()?.code == .connection)
            #expect(try harness.folder.names == [])
            try await harness.download()
            #expect(try harness.downloaded() == Compressed.text)
            #expect(harness.server.received.map { $0.header("Range") } == [nil, nil])
        }
    }

    @Test(
        arguments: [
            ("compress", .pattern(10)), ("gzip, br", Compressed.gzip), ("gzip", .pattern(10)),
            ("gzip", Compressed.gzip + Compressed.gzip),
        ] as [(String, Data)]
    )
    func ofAFileThatIsCompressedInAWayThatNobodyCanRestoreIsAnError(coding: String, body: Data) async throws {
        try await TransferHarness.run { _ in
            .init(headers: ["Content-Encoding": coding], body: .init(bytes: body))
        } _: { harness async throws in
            let error = await harness.downloadError()
            #expect(error?.code == .unexpectedResponse || HTTPStack.current == .urlSession)
            #expect(try harness.folder.names == [])
        }
    }

    @Test(arguments: ["identity", "base64", "UTF-8", ""])
    func takesNoNoticeOfAContentEncodingThatIsNone(coding: String) async throws {
        // What libcurl does not know is an error for it.
        guard HTTPStack.current == .nio || coding == "identity" else { return }
        try await TransferHarness.run { _ in
            .init(headers: ["Content-Encoding": coding, "ETag": "\"v1\""], body: .init(bytes: .pattern(10)))
        } _: { harness async throws in
            try await harness.download()
            #expect(try harness.downloaded() == .pattern(10))
        }
    }

    @Test
    func intoADirectoryThatIsNotThereReportsTheLocalProblem() async throws {
        try await TransferHarness.run { _ in
            .init(body: .init(bytes: .pattern(10)))
        } _: { harness async throws in
            let located = LocatedAttachment(attachment: harness.attachment, localPath: harness.folder("no/such/file"))
            await #expect(throws: PowerSyncAttachmentError.self) {
                try await harness.transport.download(located) { _, _ in }
            }
        }
    }
}
