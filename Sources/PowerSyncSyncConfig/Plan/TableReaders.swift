/// Which evaluators and parameter indexes of a plan read which tables, found by the name of the table.
struct TableReaders: Sendable, Equatable {
    /// Patterns with their positions in the plan, by the name of the table where that is exact.
    private struct Patterns: Sendable, Equatable {
        var byName: [String: [Int]] = [:]
        var wildcards: [Int] = []
        let patterns: [TablePattern]

        init(_ patterns: [TablePattern]) {
            self.patterns = patterns
            for (position, pattern) in patterns.enumerated() {
                if pattern.hasTableWildcard {
                    wildcards.append(position)
                } else {
                    byName[pattern.table, default: []].append(position)
                }
            }
        }

        /// The positions of the patterns that match a table, ascending.
        func matches(of table: SourceTableName, defaultSchema: String) -> [Int] {
            let candidates = byName[table.name, default: []] + wildcards
            return candidates.filter { patterns[$0].matches(table, defaultSchema: defaultSchema) }.sorted()
        }
    }

    private let evaluators: Patterns
    private let indexes: Patterns

    /// Finds the readers of a plan.
    init(evaluators: [DataQuery], indexes: [ParameterIndex]) {
        self.evaluators = Patterns(evaluators.map(\.table))
        self.indexes = Patterns(indexes.map(\.table))
    }

    /// The positions of the evaluators that read a table, ascending.
    func evaluators(of table: SourceTableName, defaultSchema: String) -> [Int] {
        evaluators.matches(of: table, defaultSchema: defaultSchema)
    }

    /// The positions of the parameter indexes that read a table, ascending.
    func indexes(of table: SourceTableName, defaultSchema: String) -> [Int] {
        indexes.matches(of: table, defaultSchema: defaultSchema)
    }
}
