import Foundation
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite struct DownloadRecordTests {
    @Test(
        arguments: [
            ("bytes 5-9/10", 5, 9, 10), ("bytes 0-0/1", 0, 0, 1), ("BYTES 5-9/*", 5, 9, nil),
            ("bytes 0-9223372036854775806/9223372036854775807", 0, Int64.max - 1, Int64.max),
        ] as [(String, Int64, Int64, Int64?)]
    )
    func contentRangeIsParsedStrictly(text: String, first: Int64, last: Int64, total: Int64?) throws {
        let range = try #require(ContentRange(text))
        #expect(range.bytes == first...last)
        #expect(range.total == total)
    }

    @Test(
        arguments: [
            "", "bytes", "bytes ", "bytes */10", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes 5-9/5",
            "bytes -9/10",
            "bytes 5-/10", "bytes +5-9/10", "bytes 5-9/10/11", "items 5-9/10", "bytes 5-9-10/11", "bytes 5 -9/10",
            "bytes 5-9223372036854775808/*", "bytes ٥-٩/١٠", "bytes 0x5-0x9/10",
        ]
    )
    func malformedContentRangeIsNone(text: String) {
        #expect(ContentRange(text) == nil)
    }

    private static let record = DownloadRecord(bytes: 500, etag: "\"v1\"", total: 1000)

    @Test(
        arguments: [
            (206, ["Content-Range": "bytes 500-999/1000", "ETag": "\"v1\""], .rest(total: 1000)),
            (206, ["Content-Range": "bytes 500-999/1000"], .rest(total: 1000)),
            (206, ["Content-Range": "bytes 500-999/*"], .rest(total: 1000)),
            (206, ["Content-Range": "bytes 500-998/1000"], .startOver),
            (206, ["Content-Range": "bytes 499-999/1000"], .startOver),
            (206, ["Content-Range": "bytes 500-1999/2000"], .startOver),
            (206, ["Content-Range": "bytes 500-999/1000", "ETag": "\"v2\""], .startOver),
            (206, [:], .startOver),
            (200, ["Content-Length": "1000"], .whole(total: 1000)),
            (200, [:], .whole(total: nil)),
            (203, ["Content-Length": "-1"], .whole(total: nil)),
            (416, [:], .startOver),
            (304, [:], nil), (404, [:], nil), (403, [:], nil), (500, [:], nil),
        ] as [(Int, [String: String], DownloadRecord.Answer?)]
    )
    func answerToARequestForTheRestIsUnderstood(
        status: Int,
        headers: [String: String],
        expected: DownloadRecord.Answer?
    ) {
        let answer = DownloadRecord.answer(status: status, header: { headers[$0] }, to: DownloadRecordTests.record)
        #expect(answer == expected)
    }

    @Test(
        arguments: [
            (200, .whole(total: nil)), (204, .whole(total: nil)), (206, nil), (416, nil), (100, nil), (302, nil),
        ] as [(Int, DownloadRecord.Answer?)]
    )
    func answerToARequestForTheWholeFileIsUnderstood(status: Int, expected: DownloadRecord.Answer?) {
        #expect(DownloadRecord.answer(status: status, header: { _ in nil }, to: nil) == expected)
    }

    @Test(
        arguments: [(5, 10, 5), (10, 10, 9), (12, 10, 9), (5, nil, 5), (1, 1, 0), (1, 0, 0)] as [(Int64, Int64?, Int64)]
    )
    func nextRequestBeginsAfterWhatIsThereButAsksForOneByteAtLeast(bytes: Int64, total: Int64?, expected: Int64) {
        #expect(DownloadRecord(bytes: bytes, etag: nil, total: total).offset == expected)
    }

    @Test
    func digestsAreFoundInTheHeadersThatHaveThemAndMalformedOnesAreNot() {
        let digest = Data("test".utf8).sha256
        let text = digest.base64EncodedString()
        let headers = [
            "Repr-Digest": "sha-512=:AA==:, sha-256=:\(text):", "Content-Digest": "sha-256=:\(text):",
            "x-amz-checksum-sha256": text,
        ]
        #expect(FileDigest.announced(header: { headers[$0] }, isWholeFile: true) == [digest, digest, digest])
        #expect(FileDigest.announced(header: { headers[$0] }, isWholeFile: false) == [digest])
        let malformed = [
            "Repr-Digest": "sha-256=\(text)", "Content-Digest": "sha-256=:AAAA:", "x-amz-checksum-sha256": "\(text)-7",
        ]
        #expect(FileDigest.announced(header: { malformed[$0] }, isWholeFile: true) == [])
    }
}
