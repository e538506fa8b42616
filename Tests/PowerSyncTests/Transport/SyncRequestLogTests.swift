import NIOConcurrencyHelpers
import Testing

@testable import PowerSyncClient

@Suite struct SyncRequestLogTests {
    private static let info = [
        "Starting request to POST https://x/sync/stream", "sending request",
        "Got response code 200 on https://x/sync/stream",
        "Error: broken",
    ]
    private static let headers = ["with header Authorization: <redacted>", "with header Content-Type: a/b"]
    private static let body = ["with body: {}", "  Response: text", "Response line: {\"a\":1}", "End of response"]

    @Test(
        arguments: [
            (SyncRequestLogLevel.all, info + headers + body),
            (.headers, info + headers),
            (.body, info + body),
            (.info, info),
            (.none, []),
        ]
    )
    func levelSelectsLines(level: SyncRequestLogLevel, expected: [String]) {
        let lines = LineCollector()
        let log = SyncRequestLog(SyncRequestLoggerConfiguration(requestLevel: level) { lines.append($0) })
        log.requestWillStart(
            "POST",
            url: "https://x/sync/stream",
            headers: [(name: "Authorization", value: "Token secret")],
            body: "{}"
        )
        log.responseStarted(status: 200, url: "https://x/sync/stream", headers: [(name: "Content-Type", value: "a/b")])
        log.responseBody("text")
        log.responseLine(#"{"a":1}"#)
        log.responseEnded()
        log.failed(Broken())
        #expect(Set(lines.all) == Set(expected))
    }
}

private struct Broken: Error, CustomStringConvertible {
    var description: String { "broken" }
}

/// Collects log lines.
final class LineCollector: Sendable {
    private let lines = NIOLockedValueBox<[String]>([])

    /// Everything so far.
    var all: [String] { lines.withLockedValue { $0 } }

    func append(_ line: String) {
        lines.withLockedValue { $0.append(line) }
    }
}
