import PowerSyncServiceCore
import PowerSyncSyncConfig
import PowerSyncUpload

/// Finds the rows of an upload that no stream gives to anybody: a device has such a row only until its next checkpoint.
///
/// Tables that no data query reads are left out: apps write to insert-only tables, too.
struct UnreturnedWrites {
    /// A row that no stream gives back.
    struct Finding: Equatable {
        /// The table, as the upload names it.
        var table: String
        /// The value of `id`.
        var id: String
        /// Why: `owner_id is NULL`.
        var reason: String
    }

    /// The most rows of an upload that are looked at.
    private static let maximumRows = 20

    /// The rows of an upload that are in no bucket.
    ///
    /// - Parameters:
    ///   - upload: What was applied.
    ///   - source: Has the rows as they are now.
    ///   - plan: The sync config that clients are served.
    /// - Returns: Each row once, in the order of the upload.
    /// - Throws: An error of the source.
    static func find(
        in upload: UploadRequest,
        _ source: any WritableSource,
        _ plan: SyncPlan
    ) async throws -> [Finding] {
        var findings: [Finding] = []
        var seen: Set<[String]> = []
        for entry in upload.entries where entry.op != .delete && seen.insert([entry.table, entry.id]).inserted {
            guard seen.count <= maximumRows else { break }
            guard let written = try await source.row(entry.id, of: entry.table) else { continue }
            if let reason = reason(for: written, plan) {
                findings.append(Finding(table: entry.table, id: entry.id, reason: reason))
            }
        }
        return findings
    }

    /// Why a row is in no bucket; `nil` when it is in one, when no query reads its table, or when a query fails for it, which the
    /// log says elsewhere.
    static func reason(for written: WrittenRow, _ plan: SyncPlan) -> String? {
        let queries = plan.evaluators.filter { $0.table.matches(written.table, defaultSchema: plan.defaultSchema) }
        guard !queries.isEmpty else { return nil }
        var hasFailed = false
        let rows = plan.evaluate(written.row, of: written.table, bucketPrefix: "") { _ in hasFailed = true }
        guard rows.isEmpty, !hasFailed else { return nil }
        var missing: [String] = []
        for name in queries.flatMap({ $0.partitionKeys + $0.filters }).flatMap(\.readColumns)
        where !missing.contains(name) && written.row.isNull(name) {
            missing.append(name)
        }
        guard !missing.isEmpty else { return "it meets the condition of no query" }
        return "\(missing.joined(separator: " and ")) \(missing.count == 1 ? "is" : "are") NULL"
    }
}

extension PlanExpression {
    /// The columns of the row that the expression reads.
    fileprivate var readColumns: [String] {
        if case .column(let name) = self { [name] } else { operands.flatMap(\.readColumns) }
    }
}

extension SourceRow {
    /// Whether a column is NULL, or not there.
    fileprivate func isNull(_ column: String) -> Bool {
        guard let position = layout.position(of: column) else { return true }
        return values[position] == .null
    }
}
