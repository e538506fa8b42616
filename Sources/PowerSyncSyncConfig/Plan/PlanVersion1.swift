/// The stored form of version 1, which knew no functions, joins or legacy definitions.
///
/// Frozen: plans that were stored then run with the meaning that they had.
struct PlanVersion1: Decodable {
    private struct Evaluator: Decodable {
        var table: TablePattern
        var filters: [Expression]
        var partitionKeys: [Expression]
        var columns: [Column]
        var outputName: String?
    }

    private struct Index: Decodable {
        var table: TablePattern
        var filters: [Expression]
        var keys: [Expression]
        var outputs: [Expression]
    }

    private struct Stream: Decodable {
        var name: String
        var isSubscribedByDefault: Bool
        var priority: Int32
        var queriers: [Querier1]
    }

    private struct Querier1: Decodable {
        var requestFilters: [Expression]
        var stages: [[Lookup1]]
        var bucket: BucketDefinition.ID
        var instantiation: [Value]

        var querier: Querier {
            Querier(
                requestFilters: requestFilters.map(\.expression),
                stages: stages.map { $0.map { .index($0.index, inputs: $0.inputs.map(\.value)) } },
                bucket: bucket,
                instantiation: instantiation.map(\.value),
                priority: nil,
                keepsNull: false
            )
        }
    }

    private struct Lookup1: Decodable {
        var index: ParameterIndex.ID
        var inputs: [Value]
    }

    private var evaluators: [Evaluator]
    private var parameterIndexes: [Index]
    private var buckets: [BucketDefinition]
    private var streams: [Stream]

    /// The plan in today's form.
    ///
    /// - Throws: ``SyncPlanError`` when a bucket uses an evaluator that does not exist.
    func plan() throws(SyncPlanError) -> SyncPlan {
        SyncPlan(
            evaluators: evaluators.map { evaluator in
                RowEvaluator(
                    table: evaluator.table,
                    functions: [],
                    filters: evaluator.filters.map(\.expression),
                    partitionKeys: evaluator.partitionKeys.map(\.expression),
                    columns: evaluator.columns.map(\.column),
                    outputName: evaluator.outputName
                )
            },
            parameterIndexes: parameterIndexes.map { index in
                ParameterIndex(
                    table: index.table,
                    functions: [],
                    filters: index.filters.map(\.expression),
                    keys: index.keys.map(\.expression),
                    outputs: index.outputs.map(\.expression),
                    keepsNull: false
                )
            },
            buckets: try SyncPlan.validated(buckets, evaluatorCount: evaluators.count),
            streams: streams.map { stream in
                SyncPlan.Stream(
                    name: stream.name,
                    isSubscribedByDefault: stream.isSubscribedByDefault,
                    priority: stream.priority,
                    queriers: stream.queriers.map(\.querier)
                )
            }
        )
    }
}

extension PlanVersion1 {
    /// A value: `{"request": …}`, `{"lookup": {"stage": 0, "position": 0, "output": 0}}` or `{"intersection": […]}`.
    private struct Value: Decodable {
        let value: ParameterValue

        private enum CodingKeys: String, CodingKey {
            case request, lookup, intersection
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if let expression = try container.decodeIfPresent(Expression.self, forKey: .request) {
                value = .request(expression.expression)
            } else if let output = try container.decodeIfPresent(LookupOutput.self, forKey: .lookup) {
                value = .lookup(output)
            } else {
                value = .intersection(try container.decode([Value].self, forKey: .intersection).map(\.value))
            }
        }
    }

    /// A column: `"*"`, or `{"expression": …, "name": "…"}`.
    private struct Column: Decodable {
        let column: OutputColumn

        private enum CodingKeys: String, CodingKey {
            case expression, name
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self), text == "*" {
                column = .star
                return
            }
            let container = try decoder.container(keyedBy: CodingKeys.self)
            column = .expression(
                try container.decode(Expression.self, forKey: .expression).expression,
                name: try container.decode(String.self, forKey: .name)
            )
        }
    }

    /// ```json
    /// {"equal":[{"column":"kind"},{"literal":"todo"}]}   {"extract":[{"request":"auth"},{"literal":"$.sub"}]}
    /// ```
    private struct Expression: Decodable {
        let expression: PlanExpression

        private enum CodingKeys: String, CodingKey {
            case literal, column, request, extract, equal, isNull, not, and, or
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard let kind = container.allKeys.first, container.allKeys.count == 1 else {
                throw SyncPlanError.corrupted("an expression has exactly one known member")
            }
            func operand() throws -> PlanExpression { try container.decode(Expression.self, forKey: kind).expression }
            func operands(_ count: Int? = nil) throws -> [PlanExpression] {
                let operands = try container.decode([Expression].self, forKey: kind).map(\.expression)
                guard count == nil || count == operands.count else {
                    throw SyncPlanError.corrupted("\(kind.stringValue) cannot have \(operands.count) operands")
                }
                return operands
            }
            switch kind {
            case .literal: expression = .literal(try container.decode(SQLiteValue.self, forKey: kind))
            case .column: expression = .column(try container.decode(String.self, forKey: kind))
            case .request:
                expression = .request(try container.decode(PlanExpression.RequestPart.self, forKey: kind))
            case .extract: expression = .call(.memberValue1, try operands(2))
            case .equal: expression = .call(.equal, try operands(2))
            case .isNull: expression = .call(.isNull, [try operand()])
            case .not: expression = .not(try operand())
            case .and: expression = .and(try operands())
            case .or: expression = .or(try operands())
            }
        }
    }
}
