/// The stored form: an object with one member, named by the kind.
///
/// ```json
/// {"equal":[{"column":"kind"},{"literal":"todo"}]}
/// {"extract":[{"request":"auth"},{"literal":"$.sub"}]}
/// ```
extension PlanExpression: Codable {
    private enum CodingKeys: String, CodingKey {
        case literal, column, request, extract, equal, isNull, not, and, or
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let kind = container.allKeys.first, container.allKeys.count == 1 else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "an expression has exactly one known member"
                )
            )
        }
        switch kind {
        case .literal:
            self = .literal(try container.decode(SQLiteValue.self, forKey: kind))
        case .column:
            self = .column(try container.decode(String.self, forKey: kind))
        case .request:
            self = .request(try container.decode(RequestPart.self, forKey: kind))
        case .extract:
            let (json, key) = try Self.pair(in: container, kind)
            self = .extract(json: json, key: key)
        case .equal:
            let (lhs, rhs) = try Self.pair(in: container, kind)
            self = .equal(lhs, rhs)
        case .isNull:
            self = .isNull(try container.decode(PlanExpression.self, forKey: kind))
        case .not:
            self = .not(try container.decode(PlanExpression.self, forKey: kind))
        case .and:
            self = .and(try container.decode([PlanExpression].self, forKey: kind))
        case .or:
            self = .or(try container.decode([PlanExpression].self, forKey: kind))
        }
    }

    private static func pair(
        in container: KeyedDecodingContainer<CodingKeys>,
        _ kind: CodingKeys
    ) throws -> (PlanExpression, PlanExpression) {
        let operands = try container.decode([PlanExpression].self, forKey: kind)
        guard operands.count == 2 else {
            throw DecodingError.dataCorruptedError(
                forKey: kind,
                in: container,
                debugDescription: "\(kind.stringValue) has two operands, not \(operands.count)"
            )
        }
        return (operands[0], operands[1])
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .literal(let value): try container.encode(value, forKey: .literal)
        case .column(let name): try container.encode(name, forKey: .column)
        case .request(let part): try container.encode(part, forKey: .request)
        case .extract(let json, let key): try container.encode([json, key], forKey: .extract)
        case .equal(let lhs, let rhs): try container.encode([lhs, rhs], forKey: .equal)
        case .isNull(let operand): try container.encode(operand, forKey: .isNull)
        case .not(let operand): try container.encode(operand, forKey: .not)
        case .and(let terms): try container.encode(terms, forKey: .and)
        case .or(let terms): try container.encode(terms, forKey: .or)
        }
    }
}
