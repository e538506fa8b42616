/// What becomes of expressions for the default subscription, whose parameters are `NULL`.
extension PlanExpression {
    /// Whether the expression is `NULL` without parameters of a subscription, and may have a value with them.
    var isNullWithoutSubscription: Bool {
        requestParts.contains(.subscription) && withoutSubscription.valueTypes { _ in .unknown }.classes.isEmpty
    }

    /// Whether the expression cannot be true without parameters of a subscription.
    var isFalseWithoutSubscription: Bool {
        requestParts.contains(.subscription) && withoutSubscription.isNeverTrue
    }

    private var withoutSubscription: PlanExpression {
        var input = EvaluationInput()
        let replaced = replacingSubscription
        return input.fill(replaced) { part in
            switch part {
            case .request, .column, .output, .metadata, .cell, .bucketParameter: true
            default: false
            }
        }
    }

    private var replacingSubscription: PlanExpression {
        self == .request(.subscription) ? .literal(.null) : mapOperands(\.replacingSubscription)
    }

    private var isNeverTrue: Bool {
        switch self {
        case .literal(let value): !value.isTrue
        case .and(let terms): terms.contains(where: \.isNeverTrue)
        case .or(let terms): terms.allSatisfy(\.isNeverTrue)
        default: valueTypes { _ in .unknown }.classes.isEmpty
        }
    }
}
