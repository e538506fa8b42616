import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The fewest operations that buckets can have of a source whose transactions are told one by one: one for each row that a bucket had when
/// it came, and one for each time that the row was another one there, or none any more.
package struct LeastOperations: Sendable {
    /// A row in a bucket.
    private struct Place: Hashable {
        var bucket: BucketName
        var table: String
        var id: String
    }

    /// By the names of bucket definitions in the storage, with the prefix of the stream.
    private var counts: [String: Int] = [:]
    /// What rows have given so far.
    private var rows: [Place: String] = [:]
    /// All that ever had a row, by the names of their definitions.
    private var buckets: [String: Set<BucketName>] = [:]

    /// Begins with nothing.
    package init() {}

    /// Counts what has changed since the last call, and knows new definitions from now on.
    ///
    /// - Parameters:
    ///   - tables: The rows of the source, to which at most one transaction was written.
    ///   - stream: The stream with the newest config.
    package mutating func look(at tables: [(name: SourceTableName, rows: [SourceRow])], _ stream: ReplicationStream) {
        let plan = stream.writtenPlan
        var now: [Place: String] = [:]
        for (name, rows) in tables {
            var evaluator = plan.evaluator(for: name)
            for row in rows {
                for found in evaluator.evaluate(row, bucketPrefix: stream.bucketPrefix) {
                    now[Place(bucket: found.bucket, table: found.table, id: found.id)] = found.data
                }
            }
        }
        let known = Set(plan.buckets.map { stream.bucketPrefix + $0.name })
        for name in known where counts[name] == nil { counts[name] = 0 }
        for (place, data) in now where rows[place] != data {
            let definition = Self.definition(of: place.bucket)
            counts[definition, default: 0] += 1
            buckets[definition, default: []].insert(place.bucket)
        }
        for place in rows.keys where now[place] == nil {
            let definition = Self.definition(of: place.bucket)
            // An abandoned config is not looked at any more.
            if known.contains(definition) { counts[definition, default: 0] += 1 }
        }
        rows = now
    }

    private static func definition(of bucket: BucketName) -> String { String(bucket.rawValue.prefix { $0 != "[" }) }

    /// Those of the definitions of a plan that have more.
    ///
    /// - Parameters:
    ///   - stream: The stream with the plan.
    ///   - count: The operations of a bucket, whose name it gets without the prefix of the stream.
    /// - Returns: A sentence for each.
    /// - Throws: What `count` throws.
    package func exceeded(
        by stream: ReplicationStream,
        _ count: (String) async throws -> Int
    ) async throws -> [String] {
        var exceeded: [String] = []
        for bucket in stream.plan.buckets {
            let name = stream.bucketPrefix + bucket.name
            var operations = 0
            for bucket in buckets[name] ?? [] {
                operations += try await count(String(bucket.rawValue.dropFirst(stream.bucketPrefix.count)))
            }
            let least = counts[name, default: 0]
            guard operations > least else { continue }
            exceeded.append("\(name): \(operations) operations, where \(least) are enough")
        }
        return exceeded
    }
}

extension ModelSource.Content {
    /// The rows of all tables.
    package var allRows: [(name: SourceTableName, rows: [SourceRow])] {
        tables.map { (SourceTableName(schema: "main", name: $0.key), Array($0.value.rows.values)) }
    }
}
