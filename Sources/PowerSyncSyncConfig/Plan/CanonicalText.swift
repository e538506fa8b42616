/// The canonical text of an expression: the same for the same structure, different for another one.
///
/// Keys and filters of a plan are ordered by it, so that two queries that say the same in another order share their
/// buckets. It decides the order of the values in bucket names: a change of this text changes the plans that are
/// compiled from then on (not the stored ones), and splits what newer and older configs could share.
struct CanonicalText: Hashable, Comparable {
    /// The text.
    let text: String

    /// The canonical text of an expression.
    init(_ expression: PlanExpression) {
        text = Self.text(of: expression)
    }

    static func == (lhs: CanonicalText, rhs: CanonicalText) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

    static func < (lhs: CanonicalText, rhs: CanonicalText) -> Bool {
        lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
    }

    private static func text(of expression: PlanExpression) -> String {
        switch expression {
        case .literal(let value): value.description
        case .column(let name): "column(\(SQLValue.text(name)))"
        case .cell(let position): "cell(\(position))"
        case .failure(let position): "failure(\(position))"
        case .metadata(let metadata): "table.\(metadata.rawValue)()"
        case .output(let function, let column): "function\(function).\(column.rawValue)"
        case .request(let part): "\(part.rawValue).parameters()"
        case .call(let function, let operands):
            "\(function.rawValue)(\(operands.map(text(of:)).joined(separator: ", ")))"
        case .not(let operand): "(NOT \(text(of: operand)))"
        case .and(let terms): "(\(terms.map(text(of:)).joined(separator: " AND ")))"
        case .or(let terms): "(\(terms.map(text(of:)).joined(separator: " OR ")))"
        case .bucketParameter(let name): "bucket.\(SQLValue.text(name))"
        }
    }
}

extension PlanExpression: CustomStringConvertible {
    package var description: String { CanonicalText(self).text }
}

extension [PlanExpression] {
    /// The expressions without repetitions, in an order that depends on their structure only.
    var sortedByStructure: [PlanExpression] {
        var seen: Set<PlanExpression> = []
        return filter { seen.insert($0).inserted }
            .map { ($0, CanonicalText($0)) }
            .sorted { $0.1 < $1.1 }
            .map(\.0)
    }
}
