/// A compiled sync config: what the service runs (docs/sync-config.md "The plan").
///
/// A plan is stored as JSON next to the text of the config. A service that compiles differently keeps running a plan
/// that was stored earlier, so the meaning of a ``version`` never changes.
package struct SyncPlan: Sendable, Equatable {
    /// The version of the stored form that this service writes.
    ///
    /// It reads no other one.
    package static let version = 1

    /// What becomes of source rows.
    package let evaluators: [DataQuery]
    /// What takes the place of subqueries.
    package let parameterIndexes: [ParameterIndex]
    /// The bucket definitions.
    package let buckets: [BucketDefinition]
    /// The streams, in the order of the config.
    package let streams: [Stream]
    /// How values of the source are to be written.
    package let valueOptions: SourceValueOptions
    /// The schema of tables that the config names without one.
    ///
    /// Not stored: the source decides when a plan is loaded.
    package var defaultSchema: String

    /// For each evaluator, the names of the bucket definitions that contain it.
    let bucketNames: [[String]]
    /// What reads which tables.
    let readers: TableReaders

    /// A stream that clients subscribe to.
    package struct Stream: Sendable, Hashable, Codable {
        /// The name.
        package var name: String
        /// Whether clients get the stream without subscribing.
        package var isSubscribedByDefault: Bool
        /// The priority of its buckets: 0 … 3.
        package var priority: Int32
        /// The ways to buckets, one for each variant.
        package var queriers: [Querier]
    }

    /// Creates a plan.
    ///
    /// - Precondition: Positions refer to existing elements.
    init(
        evaluators: [DataQuery],
        parameterIndexes: [ParameterIndex],
        buckets: [BucketDefinition],
        streams: [Stream],
        valueOptions: SourceValueOptions = SourceValueOptions(),
        defaultSchema: String = "main"
    ) {
        self.evaluators = evaluators
        self.parameterIndexes = parameterIndexes
        self.buckets = buckets
        self.streams = streams
        self.valueOptions = valueOptions
        self.defaultSchema = defaultSchema
        var bucketNames = [[String]](repeating: [], count: evaluators.count)
        for bucket in buckets {
            for evaluator in bucket.evaluators {
                bucketNames[evaluator.rawValue].append(bucket.name)
            }
        }
        self.bucketNames = bucketNames
        readers = TableReaders(evaluators: evaluators, indexes: parameterIndexes)
    }

    /// A plan without streams, which reads nothing.
    package static let empty = SyncPlan(evaluators: [], parameterIndexes: [], buckets: [], streams: [])

    /// The patterns of all tables that the plan reads, each once, in the order of first use.
    package var tablePatterns: [TablePattern] {
        var seen: Set<TablePattern> = []
        return (evaluators.map(\.table) + parameterIndexes.map(\.table)).filter { seen.insert($0).inserted }
    }

    /// Whether the plan reads a table, for buckets or for parameter indexes.
    ///
    /// - Complexity: O(number of evaluators and indexes that read the table or a wildcard).
    package func readsTable(_ table: SourceTableName) -> Bool {
        !readers.evaluators(of: table, defaultSchema: defaultSchema).isEmpty
            || !readers.indexes(of: table, defaultSchema: defaultSchema).isEmpty
    }
}

/// A set of evaluators that share buckets.
package struct BucketDefinition: Sendable, Hashable, Codable {
    /// The name, for example `lists|0`; of a legacy definition its name alone.
    package var name: String
    /// The evaluators, ascending.
    package var evaluators: [DataQuery.ID]

    /// The position of a definition in a plan.
    package typealias ID = PlanID<BucketDefinition>
}

/// How a source writes values that have several forms (docs/sync-config.md "Options").
package struct SourceValueOptions: Sendable, Hashable, Codable {
    /// How many digits a fraction of a second may have.
    package enum TimestampPrecision: String, Sendable, Hashable, Codable {
        case seconds, milliseconds, microseconds, nanoseconds
    }

    /// Whether timestamps have the form `2024-01-02T03:04:05.000000Z`.
    package var timestampsISO8601 = true
    /// The upper limit for the digits of fractions of seconds; `nil` for those of the source.
    package var timestampMaximumPrecision: TimestampPrecision?
    /// Whether values of types that are declared in the database, such as composites and ranges, become JSON; otherwise they are
    /// texts as the source prints them.
    package var writesDeclaredTypesAsJSON = true

    /// Creates the options of the current edition.
    package init() {}

    /// The names of a stored plan.
    private enum CodingKeys: String, CodingKey {
        case timestampsISO8601, timestampMaximumPrecision
        case writesDeclaredTypesAsJSON = "customPostgresTypes"
    }
}
