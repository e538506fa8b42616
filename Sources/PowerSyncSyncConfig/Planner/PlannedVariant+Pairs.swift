/// Two columns of one table that lookups of their own look for: `a IN (SELECT x FROM t …) AND b IN (SELECT y FROM t …)`.
///
/// A row is found when one row of the table has `x` and another one has `y`.
struct SeparatedPair {
    /// The columns of the table that is found.
    var keys: (first: PlanExpression, second: PlanExpression)
    /// The columns of the table that is looked up.
    var outputs: (first: PlanExpression, second: PlanExpression)
    /// The table that is found, and the one that is looked up.
    var tables: (found: String, lookedUp: String)
    /// The place of the second mention of the table.
    var range: Range<Int>

    /// The warning.
    var problem: SQLProblem {
        func name(_ table: String, _ column: PlanExpression) -> String { "\(table).\(column.sql())" }
        let conditions = [(keys.first, outputs.first), (keys.second, outputs.second)].map { key, output in
            "\(name(tables.found, key)) = \(name(tables.lookedUp, output))"
        }
        return SQLProblem(
            code: .filterPairs,
            message: """
                “\(outputs.first.sql())” and “\(outputs.second.sql())” of “\(tables.lookedUp)” are looked for separately: a pair \
                need not stand in one row of it.
                """,
            hint: """
                Join it once: “JOIN \(tables.lookedUp) ON \(conditions.joined(separator: " AND "))”, with its conditions in WHERE.
                """,
            range: range
        )
    }
}

extension PlannedVariant {
    /// Pairs of columns that are not kept together.
    var separatedPairs: [SeparatedPair] {
        var pairs = way.separatedPairs(evaluator.table, keys: evaluator.partitionKeys, values: way.instantiation)
        for lookup in way.lookups {
            guard case .index(let index, let inputs) = lookup.kind else { continue }
            pairs += way.separatedPairs(index.table, keys: index.keys, values: inputs)
        }
        return pairs
    }
}

extension PlannedWay {
    fileprivate func separatedPairs(
        _ table: TablePattern,
        keys: [PlanExpression],
        values: [Value]
    ) -> [SeparatedPair] {
        let sources = zip(keys, values).compactMap { key, value -> (key: PlanExpression, lookup: Int, output: Int)? in
            guard case .lookup(let lookup, let output) = value else { return nil }
            return (key, lookup, output)
        }
        var pairs: [SeparatedPair] = []
        for (position, first) in sources.enumerated() {
            for second in sources[(position + 1)...] where first.lookup != second.lookup {
                guard case .index(let one, _) = lookups[first.lookup].kind,
                    case .index(let other, _) = lookups[second.lookup].kind,
                    one.outputs[first.output] != other.outputs[second.output], areAlike(first.lookup, second.lookup)
                else { continue }
                let (early, late) = first.lookup < second.lookup ? (first, second) : (second, first)
                let outputs = early.lookup == first.lookup ? (one, other) : (other, one)
                pairs.append(
                    SeparatedPair(
                        keys: (early.key, late.key),
                        outputs: (outputs.0.outputs[early.output], outputs.1.outputs[late.output]),
                        tables: (table.description, one.table.description),
                        range: lookups[late.lookup].range
                    )
                )
            }
        }
        return pairs
    }

    /// Whether two lookups find the same rows.
    private func areAlike(_ first: Int, _ second: Int) -> Bool {
        guard first != second else { return true }
        switch (lookups[first].kind, lookups[second].kind) {
        case (.index(let one, let inputs), .index(let other, let others)):
            return one.table == other.table && one.functions == other.functions && one.filters == other.filters
                && one.keys == other.keys && zip(inputs, others).allSatisfy(areAlike)
        case (.function(let one, _), .function(let other, _)):
            return one == other
        default:
            return false
        }
    }

    private func areAlike(_ first: Value, _ second: Value) -> Bool {
        switch (first, second) {
        case (.request(let one), .request(let other)):
            one.expression == other.expression
        case (.lookup(let one, let output), .lookup(let other, let otherOutput)):
            outputs(one, output) == outputs(other, otherOutput) && areAlike(one, other)
        case (.intersection(let parts), .intersection(let others)):
            parts.count == others.count && zip(parts, others).allSatisfy(areAlike)
        default:
            false
        }
    }

    private func outputs(_ lookup: Int, _ output: Int) -> PlanExpression {
        switch lookups[lookup].kind {
        case .index(let index, _): index.outputs[output]
        case .function(let function, _): function.outputs[output]
        }
    }
}
