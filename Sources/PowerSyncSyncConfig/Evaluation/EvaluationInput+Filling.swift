/// Evaluating once what does not differ from one row of a function, or from one subscription, to the next.
extension EvaluationInput {
    /// An expression with the values of those parts filled in that are known.
    ///
    /// A part that cannot be evaluated stays in its place, and throws when it is reached there, without another attempt.
    /// A part of the request that stands for itself stays, too: it is JSON, and need not become text.
    ///
    /// - Parameters:
    ///   - expression: The expression.
    ///   - isUnknown: Whether something that an expression reads is not known yet.
    /// - Returns: The expression, a literal if all of it is known.
    mutating func fill(
        _ expression: PlanExpression,
        unless isUnknown: (PlanExpression) -> Bool
    ) -> PlanExpression {
        switch expression {
        case .literal, .request, .failure: return expression
        default: break
        }
        if !expression.contains(where: isUnknown) {
            do throws(EvaluationError) {
                return .literal(try expression.evaluate(in: self))
            } catch {
                if case .call = expression {
                    failures.append(error)
                    return .failure(failures.count - 1)
                }
                // The other terms are reached, or not, by the same rules as ever.
            }
        }
        return expression.mapOperands { fill($0, unless: isUnknown) }
    }

    /// The expressions with the values of those parts filled in that are known.
    mutating func fill(
        _ expressions: [PlanExpression],
        unless isUnknown: (PlanExpression) -> Bool
    ) -> [PlanExpression] {
        expressions.map { fill($0, unless: isUnknown) }
    }

    /// What is left of filters when what is known has been evaluated, or `nil` when one of them does not hold anyway.
    mutating func remainder(
        of filters: [PlanExpression],
        unless isUnknown: (PlanExpression) -> Bool
    ) -> [PlanExpression]? {
        var remainder: [PlanExpression] = []
        for filter in filters {
            let filled = fill(filter, unless: isUnknown)
            if case .literal(let value) = filled {
                guard value.isTrue else { return nil }
            } else {
                remainder.append(filled)
            }
        }
        return remainder
    }
}
