/// A scalar expression of a compiled plan.
///
/// Columns carry no table: an expression of a plan reads one source row, or the request, never both.
/// Two expressions are equal when they have the same structure.
package indirect enum PlanExpression: Sendable, Hashable {
    /// A constant.
    case literal(SQLiteValue)
    /// A column of the source row; `NULL` when the row has no such column.
    case column(String)
    /// A part of the request as JSON text.
    case request(RequestPart)
    /// `json ->> key`: a member of a JSON text as SQL value.
    case extract(json: PlanExpression, key: PlanExpression)
    /// `a = b`
    case equal(PlanExpression, PlanExpression)
    /// `a IS NULL`
    case isNull(PlanExpression)
    /// `NOT a`; true for `NULL`
    case not(PlanExpression)
    /// `a AND b AND …`, with `NULL` as false
    case and([PlanExpression])
    /// `a OR b OR …`, with `NULL` as false
    case or([PlanExpression])

    /// The JSON objects that a request brings along.
    package enum RequestPart: String, Sendable, Hashable, Codable {
        /// The payload of the verified token.
        case auth
        /// The parameters of the connection.
        case connection
        /// The parameters of the stream subscription.
        case subscription
    }
}

extension PlanExpression {
    /// The terms of a conjunction, or the expression itself.
    var conjuncts: [PlanExpression] {
        if case .and(let terms) = self { terms } else { [self] }
    }

    /// The expression that holds when all of `terms` do, without nested conjunctions and repeated terms.
    static func conjunction(of terms: [PlanExpression]) -> PlanExpression {
        let unique = unique(terms.flatMap(\.conjuncts))
        return unique.count == 1 ? unique[0] : .and(unique)
    }

    /// The expression that holds when one of `terms` does, without nested disjunctions and repeated terms.
    static func disjunction(of terms: [PlanExpression]) -> PlanExpression {
        let flat = terms.flatMap { term in
            if case .or(let terms) = term { terms } else { [term] }
        }
        let unique = unique(flat)
        return unique.count == 1 ? unique[0] : .or(unique)
    }

    private static func unique(_ terms: [PlanExpression]) -> [PlanExpression] {
        var seen: Set<PlanExpression> = []
        return terms.filter { seen.insert($0).inserted }
    }

    /// The parts of the request that the expression reads.
    var requestParts: Set<RequestPart> {
        switch self {
        case .literal, .column: []
        case .request(let part): [part]
        case .extract(let lhs, let rhs), .equal(let lhs, let rhs): lhs.requestParts.union(rhs.requestParts)
        case .isNull(let operand), .not(let operand): operand.requestParts
        case .and(let terms), .or(let terms): terms.reduce(into: []) { $0.formUnion($1.requestParts) }
        }
    }
}

extension PlanExpression: CustomStringConvertible {
    /// A form that depends on the structure only.
    ///
    /// Keys are ordered by it, so it must not change between versions that share a plan version.
    package var description: String {
        switch self {
        case .literal(let value): value.description
        case .column(let name): "column(\(SQLiteValue.text(name)))"
        case .request(let part): "\(part.rawValue).parameters()"
        case .extract(let json, let key): "(\(json) ->> \(key))"
        case .equal(let lhs, let rhs): "(\(lhs) = \(rhs))"
        case .isNull(let operand): "(\(operand) IS NULL)"
        case .not(let operand): "(NOT \(operand))"
        case .and(let terms): "(" + terms.map(\.description).joined(separator: " AND ") + ")"
        case .or(let terms): "(" + terms.map(\.description).joined(separator: " OR ") + ")"
        }
    }
}
