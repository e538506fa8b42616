import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport

@testable import PowerSyncServiceCore

/// The fewest operations that buckets can have of a source whose transactions are told one by one: one for each row that a bucket had when
/// it came, and one for each time that the row was another one there, or none any more.
struct LeastOperations {
    /// By the names of bucket definitions in the storage, with the prefix of the stream.
    private var counts: [Substring: Int] = [:]
    /// What rows have given so far: their data by bucket, table and id.
    private var rows: [String: String] = [:]
    private var buckets: Set<BucketName> = []

    /// Counts what has changed since the last call, and knows new definitions from now on.
    ///
    /// - Parameters:
    ///   - model: The source, to which at most one transaction was written.
    ///   - stream: The stream with the newest config.
    mutating func look(at model: ModelSource, _ stream: ReplicationStream) {
        let plan = stream.writtenPlan
        var now: [String: (definition: Substring, data: String)] = [:]
        for (table, content) in model.content.tables {
            let name = SourceTableName(schema: "main", name: table)
            for row in content.sorted.flatMap({ plan.evaluate($0, of: name, bucketPrefix: stream.bucketPrefix) }) {
                buckets.insert(row.bucket)
                now["\(row.bucket) \(row.table) \(row.id)"] = (Self.definition(of: row.bucket), row.data)
            }
        }
        let known = Set(plan.buckets.map { stream.bucketPrefix + $0.name })
        for name in known where counts[name[...]] == nil { counts[name[...]] = 0 }
        for (key, row) in now where rows[key] != row.data { counts[row.definition, default: 0] += 1 }
        for key in rows.keys where now[key] == nil {
            let definition = Self.definition(of: BucketName(String(key.prefix { $0 != " " })))
            // An abandoned config is not looked at any more.
            if known.contains(String(definition)) { counts[definition, default: 0] += 1 }
        }
        rows = now.mapValues(\.data)
    }

    private static func definition(of bucket: BucketName) -> Substring { bucket.rawValue.prefix { $0 != "[" } }

    /// Those of the definitions of a plan that have more.
    func exceeded(
        by stream: ReplicationStream,
        _ count: (String) async throws -> Int
    ) async throws -> [String] {
        var found: [Substring: Int] = [:]
        for bucket in buckets {
            let name = String(bucket.rawValue.dropFirst(stream.bucketPrefix.count))
            found[Self.definition(of: bucket), default: 0] += try await count(name)
        }
        return stream.plan.buckets.compactMap { bucket in
            let name = (stream.bucketPrefix + bucket.name)[...]
            let (operations, least) = (found[name, default: 0], counts[name, default: 0])
            return operations > least ? "\(name): \(operations) operations, where \(least) are enough" : nil
        }
    }
}
