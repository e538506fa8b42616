/// Which rows and which values of a request lead to the buckets of a stream, for people.
package struct StreamExplanation: Sendable, Hashable, Encodable {
    /// One kind of buckets, and a way to them.
    package struct Way: Sendable, Hashable, Encodable {
        /// The name of the buckets, with expressions in place of the values: `todos|0[list_id]`.
        package var bucket: String
        /// The rows in them: `todos by list_id, where NOT done`.
        package var rows: [String]
        /// Where the values come from: `list_id: lists.id`.
        package var values: [String]
        /// The rows of other tables that are looked up: `lists where owner_id = auth.user_id()`.
        package var lookups: [String]
        /// What must be true of the request.
        package var conditions: [String]
    }

    /// The name of the stream.
    package var stream: String
    /// Whether clients get it without subscribing.
    package var isSubscribedByDefault: Bool
    /// The priority of its buckets.
    package var priority: Int32
    /// The ways to its buckets.
    package var ways: [Way]

    /// The explanation as lines.
    package var lines: [String] {
        let subscription = isSubscribedByDefault ? "auto-subscribed" : "on demand"
        var lines = ["stream \(stream) (\(subscription), priority \(priority))"]
        if ways.isEmpty { lines.append("  no buckets") }
        for way in ways {
            lines.append("  bucket   \(way.bucket)")
            for (title, texts) in [
                ("rows", way.rows), ("values", way.values), ("lookups", way.lookups), ("only if", way.conditions),
            ] {
                for (number, text) in texts.enumerated() {
                    let title = (number == 0 ? title : "").padded(to: 9)
                    lines.append("    \(title)\(text)")
                }
            }
        }
        return lines
    }
}

extension String {
    /// The text with spaces behind it, up to a width.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

extension SyncPlan {
    /// What leads to buckets, for each stream.
    package var explanations: [StreamExplanation] {
        streams.map { stream in
            StreamExplanation(
                stream: stream.name,
                isSubscribedByDefault: stream.isSubscribedByDefault,
                priority: stream.priority,
                ways: stream.queriers.map(explain)
            )
        }
    }

    private func explain(_ querier: Querier) -> StreamExplanation.Way {
        let definition = buckets[querier.bucket]
        let evaluators = definition.evaluators.map { self.evaluators[$0] }
        let keys =
            evaluators.first.map { first in first.partitionKeys.map { $0.sql(functions: first.functions) } } ?? []
        return StreamExplanation.Way(
            bucket: "\(definition.name)[\(keys.joined(separator: ", "))]",
            rows: evaluators.map(\.explanation),
            values: zip(keys, querier.instantiation).map { "\($0) = \(text(of: $1, in: querier))" },
            lookups: querier.stages.joined().map { text(of: $0, in: querier) },
            conditions: querier.requestFilters.map { $0.sql() }
        )
    }

    private func text(of value: ParameterValue, in querier: Querier) -> String {
        switch value {
        case .request(let expression):
            return expression.sql()
        case .intersection(let parts):
            return parts.map { text(of: $0, in: querier) }.joined(separator: " and ")
        case .lookup(let output):
            switch querier.stages[output.stage][output.position] {
            case .index(let id, _):
                let index = parameterIndexes[id]
                return "\(index.outputs[output.output].sql(functions: index.functions)) of \(index.table.description)"
            case .function(let lookup):
                return lookup.outputs[output.output].sql(functions: [lookup.function])
            }
        }
    }

    private func text(of lookup: Lookup, in querier: Querier) -> String {
        switch lookup {
        case .index(let id, let inputs):
            let index = parameterIndexes[id]
            let keys = zip(index.keys, inputs).map { key, input in
                "\(key.sql(functions: index.functions)) = \(text(of: input, in: querier))"
            }
            let terms = keys + index.filters.map { $0.sql(functions: index.functions) }
            return terms.isEmpty
                ? "all of \(index.table.description)"
                : "\(index.table.description) where \(terms.joined(separator: " and "))"
        case .function(let lookup):
            let filters = lookup.filters.map { $0.sql(functions: [lookup.function]) }
            return filters.isEmpty
                ? lookup.function.sql : "\(lookup.function.sql) where \(filters.joined(separator: " and "))"
        }
    }
}

extension DataQuery {
    /// The rows that the evaluator syncs.
    fileprivate var explanation: String {
        var text = table.description
        if let outputName, outputName != table.table { text += " as \(outputName)" }
        if !partitionKeys.isEmpty {
            text += " by \(partitionKeys.map { $0.sql(functions: functions) }.joined(separator: ", "))"
        }
        let filters = filters.map { $0.sql(functions: functions) }
        return filters.isEmpty ? text : "\(text), where \(filters.joined(separator: " and "))"
    }
}
