/// Functions of JSON texts (docs/sync-config.md "Values").
extension PlanFunction {
    /// The value of a function of JSON.
    ///
    /// - Throws: ``EvaluationError``.
    func evaluateJSON(
        _ operands: [PlanExpression],
        in input: EvaluationInput
    ) throws(EvaluationError) -> SQLValue {
        if self == .contained || self == .notContained {
            return try contains(operands[0].evaluate(in: input), operands[1], in: input)
        }
        guard let (document, isText) = try Self.document(operands[0], in: input) else { return .null }
        var key: SQLValue?
        if operands.count > 1 { key = .some(try operands[1].evaluate(in: input)) }
        switch self {
        case .jsonKeys:
            guard case .object(let members) = document else {
                guard isText else { return .null }
                throw .notJSONObject
            }
            return .text(JSONNode.array(members.map { .string($0.name) }).text)
        case .jsonArrayLength:
            guard let found = try Self.find(key, in: document) else { return .null }
            if case .array(let elements) = found { return .integer(Int64(elements.count)) }
            return .integer(0)
        case .jsonType:
            return try Self.find(key, in: document).map { .text($0.typeName) } ?? .null
        case .memberValue1:
            guard let path = try QuotedJSONPath(key ?? .null) else { return .null }
            return path.value(in: document)?.value ?? .null
        case .jsonExtract, .splitJSONExtract:
            if case .null = document { return .null }
            guard let key, let path = key.text else { return .null }
            guard path.utf8.first == UInt8(ascii: "$") else { throw .invalidPath }
            return member(key, of: document)
        default:
            return member(key ?? .null, of: document)
        }
    }

    /// The JSON value that a function reads, `nil` for `NULL`: numbers and bytes count by their text form, and what is no JSON
    /// then has no members.
    ///
    /// A part of the request is not turned into text and back.
    private static func document(
        _ operand: PlanExpression,
        in input: EvaluationInput
    ) throws(EvaluationError) -> (node: JSONNode, isText: Bool)? {
        if case .request(let part) = operand { return input.request?[part].map { ($0, true) } }
        let value = try operand.evaluate(in: input)
        guard let text = value.text else { return nil }
        if let node = JSONNode(parsing: text) {
            if case .text = value { return (node, true) }
            return (node, false)
        }
        if case .text = value { throw .notJSON }
        return nil
    }

    private func member(_ key: SQLValue, of document: JSONNode) -> SQLValue {
        let isSplit = self == .splitMember || self == .splitMemberValue || self == .splitJSONExtract
        guard let found = JSONPath(key, isSplit: isSplit)?.value(in: document) else { return .null }
        switch (self, document, found) {
        case (.member, .null, _), (.splitMember, _, .null): return .null
        case (.splitJSONExtract, _, .null): return .text("null")
        case (.member, _, _), (.splitMember, _, _): return .text(found.text)
        default: return found.value
        }
    }

    /// What an optional path leads to.
    private static func find(_ path: SQLValue?, in document: JSONNode) throws(EvaluationError) -> JSONNode? {
        guard let path else { return document }
        guard let text = path.text else { return nil }
        guard text.utf8.first == UInt8(ascii: "$") else { throw .invalidPath }
        return JSONPath(path, isSplit: false)?.value(in: document)
    }

    /// Whether a JSON array has a value.
    private func contains(
        _ value: SQLValue,
        _ array: PlanExpression,
        in input: EvaluationInput
    ) throws(EvaluationError) -> SQLValue {
        guard value != .null, let document = try array.evaluateJSON(in: input) else { return .null }
        guard case .array(let elements) = document else { throw .notJSONArray }
        for element in elements where try value.isEqual(to: element.value) == true {
            return .boolean(self == .contained)
        }
        return .boolean(self == .notContained)
    }
}

extension JSONNode {
    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .bool(let isTrue): isTrue ? "true" : "false"
        case .integer: "integer"
        case .real: "real"
        case .string: "text"
        case .array: "array"
        case .object: "object"
        }
    }
}
