/// The table-valued functions that expressions over one table use, numbered from 0 in an order that depends on their
/// structure only.
struct FunctionList {
    /// The functions in order.
    let functions: [TableFunction]
    private let positions: [Int: Int]

    /// Collects the functions that some expressions use.
    init(_ resultSets: [CanonicalQuery.ResultSet], usedBy expressions: [PlanExpression]) {
        let numbers = expressions.reduce(into: Set<Int>()) { $0.formUnion($1.functionNumbers) }.sorted()
        let used = numbers.compactMap { number -> (number: Int, function: TableFunction, text: CanonicalText)? in
            guard case .function(let kind, let argument, _) = resultSets[number].kind else { return nil }
            let function = TableFunction(kind: kind, argument: argument.expression)
            return (number, function, CanonicalText(argument.expression))
        }.sorted { ($0.text, $0.number) < ($1.text, $1.number) }
        functions = used.map(\.function)
        positions = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($0.element.number, $0.offset) })
    }

    /// An expression with positions of this list in place of result sets.
    func numbered(_ expression: PlanExpression) -> PlanExpression {
        expression.renumberingFunctions { positions[$0] ?? 0 }
    }
}
