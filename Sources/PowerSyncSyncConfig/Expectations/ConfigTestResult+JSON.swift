import Foundation
import PowerSyncProtocol

extension ConfigTestResult {
    /// The result for tools, as one line of JSON (docs/config-tests.md "Output for tools").
    ///
    /// - Throws: `EncodingError`, which would be a mistake of this module.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(ConfigTestOutput(self)), as: UTF8.self)
    }
}

private struct ConfigTestOutput: Encodable {
    struct Row: Encodable {
        var bucket: String
        var table: String
        var id: String
        var data: String
    }

    struct StreamError: Encodable {
        var stream: String
        var subscription: Int?
    }

    /// `{"default": 0}` or `{"sub": 0}`, as in checkpoints.
    struct Reason: Encodable {
        var `default`: Int?
        var sub: Int?
    }

    struct Bucket: Encodable {
        var bucket: String
        var priority: Int32
        var reasons: [Reason]
    }

    struct Received: Encodable {
        var table: String
        var id: String
        var priority: Int32
        var data: String
    }

    struct Case: Encodable {
        var name: String
        var error: String?
        var streamErrors: [StreamError]
        var buckets: [Bucket]
        var receives: [Received]
        var failures: [String]
    }

    var accepted: Bool
    var findings: [ConfigTestFinding]
    var rows: [[Row]]
    var cases: [Case]

    init(_ result: ConfigTestResult) {
        accepted = result.isAccepted
        findings = result.diagnostics.map { ConfigTestFinding($0) } + result.testFindings
        rows = result.rows.map { rows in
            rows.map { Row(bucket: $0.bucket.rawValue, table: $0.table, id: $0.id, data: $0.data) }
        }
        cases = result.cases.map { test in
            Case(
                name: test.name,
                error: test.error,
                streamErrors: test.streamErrors.map { StreamError(stream: $0.stream, subscription: $0.subscription) },
                buckets: (test.reply?.buckets ?? []).map { bucket in
                    Bucket(
                        bucket: bucket.name.rawValue,
                        priority: bucket.priority.rawValue,
                        reasons: bucket.reasons.map { reason in
                            switch reason {
                            case .defaultStream(let index): Reason(default: index)
                            case .subscription(let index): Reason(sub: index)
                            }
                        }
                    )
                },
                receives: (test.reply?.rows ?? []).map { row in
                    Received(table: row.table, id: row.id, priority: row.priority.rawValue, data: row.data)
                },
                failures: test.failures
            )
        }
    }
}
