/// The stored form: an object with one member, named by the kind.
///
/// ```json
/// {"column":"kind"}   {"literal":"todo"}   {"request":"auth"}   {"metadata":"schema"}   {"output":[0,"value"]}
/// {"call":["equal",{"column":"kind"},{"literal":"todo"}]}   {"not":…}   {"and":[…]}   {"or":[…]}
/// ```
extension PlanExpression: Codable {
    private enum CodingKeys: String, CodingKey {
        case literal, column, metadata, output, request, call, not, and, or
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
        case .literal: self = .literal(try container.decode(SQLValue.self, forKey: kind))
        case .column: self = .column(try container.decode(String.self, forKey: kind))
        case .metadata: self = .metadata(try container.decode(TableMetadata.self, forKey: kind))
        case .request: self = .request(try container.decode(RequestPart.self, forKey: kind))
        case .not: self = .not(try container.decode(PlanExpression.self, forKey: kind))
        case .and: self = .and(try container.decode([PlanExpression].self, forKey: kind))
        case .or: self = .or(try container.decode([PlanExpression].self, forKey: kind))
        case .output:
            var parts = try container.nestedUnkeyedContainer(forKey: kind)
            self = .output(try parts.decode(Int.self), try parts.decode(TableFunction.Column.self))
        case .call:
            var parts = try container.nestedUnkeyedContainer(forKey: kind)
            let function = try parts.decode(PlanFunction.self)
            var operands: [PlanExpression] = []
            while !parts.isAtEnd { operands.append(try parts.decode(PlanExpression.self)) }
            guard function.arity.contains(operands.count) else {
                throw DecodingError.dataCorruptedError(
                    forKey: kind,
                    in: container,
                    debugDescription: "\(function.rawValue) cannot have \(operands.count) operands"
                )
            }
            self = .call(function, operands)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .literal(let value): try container.encode(value, forKey: .literal)
        case .column(let name): try container.encode(name, forKey: .column)
        case .metadata(let metadata): try container.encode(metadata, forKey: .metadata)
        case .request(let part): try container.encode(part, forKey: .request)
        case .not(let operand): try container.encode(operand, forKey: .not)
        case .and(let terms): try container.encode(terms, forKey: .and)
        case .or(let terms): try container.encode(terms, forKey: .or)
        case .output(let function, let column):
            var parts = container.nestedUnkeyedContainer(forKey: .output)
            try parts.encode(function)
            try parts.encode(column)
        case .call(let function, let operands):
            var parts = container.nestedUnkeyedContainer(forKey: .call)
            try parts.encode(function)
            for operand in operands { try parts.encode(operand) }
        case .cell, .failure, .bucketParameter:
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "not part of a plan")
            )
        }
    }
}
