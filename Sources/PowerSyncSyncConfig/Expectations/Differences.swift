package import PowerSyncProtocol

/// How what a client receives differs from what it must receive.
struct Differences {
    /// One difference.
    private struct Difference {
        var sentence: String
        /// The row whose reasons explain it.
        var row: ReceivedRow?
    }

    private var all: [Difference] = []

    /// Whether some sentence says why a row is there.
    var needsReasons: Bool { all.contains { $0.row != nil } }

    /// Compares.
    ///
    /// - Parameters:
    ///   - rows: What the client receives.
    ///   - test: What it must receive, and must not.
    ///   - rehearsal: Where the rows come from, to say why others do not arrive.
    init(of rows: [ReceivedRow], to test: ConfigTestCase, _ rehearsal: Rehearsal) {
        if let receives = test.receives {
            for (table, expected) in receives.tables {
                compare(expected, with: rows.filter { $0.table.hasSameBytes(as: table) }, table: table, rehearsal)
            }
            if receives.isComplete {
                let others = rows.filter { row in !receives.tables.contains { $0.name.hasSameBytes(as: row.table) } }
                for row in others { all.append(Difference(sentence: "\(row.path) is not expected", row: row)) }
            }
        }
        for forbidden in test.never {
            for row in rows where row.table.hasSameBytes(as: forbidden.table) {
                if let ids = forbidden.ids, !ids.contains(where: { $0.hasSameBytes(as: row.id) }) { continue }
                all.append(Difference(sentence: "\(row.path) must never arrive", row: row))
            }
        }
    }

    private mutating func compare(
        _ expected: ReceivedRows.Table,
        with rows: [ReceivedRow],
        table: String,
        _ rehearsal: Rehearsal
    ) {
        switch expected {
        case .count(let count):
            guard rows.count != count else { return }
            all.append(
                Difference(
                    sentence: "\(table) has \(rows.count.counted("row")), expected \(count)"
                )
            )
            for row in rows { all.append(Difference(sentence: "\(row.path) arrives", row: row)) }
        case .rows(let expectations):
            for expectation in expectations {
                guard let row = rows.first(where: { $0.id.hasSameBytes(as: expectation.id) }) else {
                    let reason = Self.whyMissing(table: table, id: expectation.id, rehearsal)
                    all.append(Difference(sentence: "\(table)/\(expectation.id) is missing: \(reason)"))
                    continue
                }
                compare(expectation, with: row)
            }
            for row in rows where !expectations.contains(where: { $0.id.hasSameBytes(as: row.id) }) {
                all.append(Difference(sentence: "\(row.path) is not expected", row: row))
            }
        }
    }

    private mutating func compare(_ expected: ReceivedRows.Row, with row: ReceivedRow) {
        if let priority = expected.priority, row.priority.rawValue != priority {
            all.append(
                Difference(
                    sentence: "\(row.path) has priority \(row.priority.rawValue), expected \(priority)",
                    row: row
                )
            )
        }
        switch expected.data {
        case nil:
            break
        case .text(let text):
            if !row.data.hasSameBytes(as: text) {
                all.append(Difference(sentence: "\(row.path) is \(row.data), expected \(text)", row: nil))
            }
        case .members(let members):
            let actual = JSONNode(parsing: row.data)
            for member in members {
                let value = actual?[member.name]?.text
                guard value.map({ !$0.hasSameBytes(as: member.value.text) }) ?? true else { continue }
                all.append(
                    Difference(
                        sentence:
                            "\(row.path).\(member.name) is \(value ?? "missing"), expected \(member.value.text)",
                        row: nil
                    )
                )
            }
        }
    }

    /// Why a row that is expected does not arrive.
    private static func whyMissing(table: String, id: String, _ rehearsal: Rehearsal) -> String {
        var buckets: [String] = []
        for bucketRow in rehearsal.rows.lazy.flatMap(\.bucketRows)
        where bucketRow.table.hasSameBytes(as: table) && bucketRow.id.hasSameBytes(as: id) {
            if !buckets.contains(bucketRow.bucket.rawValue) { buckets.append(bucketRow.bucket.rawValue) }
        }
        guard !buckets.isEmpty else { return "no source row becomes it in any bucket" }
        return "it is in \(buckets.prefix(5).joined(separator: ", ")), which this client does not get"
    }

    /// The differences as sentences.
    ///
    /// - Parameter reasons: Why the client gets each bucket.
    /// - Returns: One sentence for each.
    func sentences(reasons: [BucketName: [String]]) -> [String] {
        all.map { difference in
            guard let row = difference.row else { return difference.sentence + "." }
            return "\(difference.sentence): it comes \(row.reason(reasons))."
        }
    }
}

extension ReceivedRow {
    /// The row in sentences.
    package var path: String { "\(table)/\(id)" }

    /// Why a client gets the row: `through stream …`.
    ///
    /// - Parameter reasons: Why it gets each bucket.
    /// - Returns: At most three ways.
    package func reason(_ reasons: [BucketName: [String]]) -> String {
        let all = buckets.flatMap { bucket in reasons[bucket] ?? ["bucket \(bucket)"] }
        let more = all.count > 3 ? ", and in \(all.count == 4 ? "1 more way" : "\(all.count - 3) more ways")" : ""
        return "through \(all.prefix(3).joined(separator: "; "))\(more)"
    }
}
