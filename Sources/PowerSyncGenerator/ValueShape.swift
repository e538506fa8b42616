import PowerSyncSyncConfig

extension DeclaredType {
    /// The type of the column in the client's schema: `text`, `integer` or `real`.
    var column: String {
        switch self {
        case .integer, .boolean: "integer"
        case .real: "real"
        case .text, .decimal, .date, .bytes: "text"
        }
    }
}

/// What an expression gives.
struct ValueShape: Sendable, Hashable {
    /// The type; `nil` when it is not known.
    var type: DeclaredType?
    /// Whether it may be NULL.
    var isOptional: Bool

    /// A value of which nothing is known.
    static let unknown = ValueShape(type: nil, isOptional: true)

    /// What holds for a value that is either.
    func merged(with other: ValueShape) -> ValueShape {
        let type: DeclaredType? =
            switch (self.type, other.type) {
            case let (first, second) where first == second: first
            case (.integer?, .boolean?), (.boolean?, .integer?): .integer
            case (.integer?, .real?), (.real?, .integer?): .real
            default: nil
            }
        return ValueShape(type: type, isOptional: isOptional || other.isOptional)
    }
}

extension PlanExpression {
    /// What the expression gives for rows of a table.
    ///
    /// - Parameter columns: The columns of the table.
    /// - Returns: The type where the table and the operators tell it.
    func shape(_ columns: (String) -> ValueShape) -> ValueShape {
        switch self {
        case .literal(let value): value.shape
        case .column(let name): columns(name)
        case .metadata: ValueShape(type: .text, isOptional: false)
        case .not, .and, .or: ValueShape(type: .boolean, isOptional: false)
        case .call(let function, let operands): function.shape(of: operands.map { $0.shape(columns) }, operands)
        case .cell, .output, .request, .failure, .bucketParameter: .unknown
        }
    }
}

extension SQLValue {
    fileprivate var shape: ValueShape {
        switch self {
        // Of any type: it does not change that of what it is an alternative to.
        case .null: ValueShape(type: nil, isOptional: true)
        case .integer: ValueShape(type: .integer, isOptional: false)
        case .real: ValueShape(type: .real, isOptional: false)
        case .text: ValueShape(type: .text, isOptional: false)
        case .blob: ValueShape(type: .bytes, isOptional: false)
        }
    }

    fileprivate var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension PlanFunction {
    fileprivate func shape(of shapes: [ValueShape], _ operands: [PlanExpression]) -> ValueShape {
        let isAnyOptional = shapes.contains(where: \.isOptional)
        switch self {
        case .isNull, .isTrue, .isFalse: return ValueShape(type: .boolean, isOptional: false)
        case .equal, .unequal, .less, .greater, .lessOrEqual, .greaterOrEqual, .between:
            return ValueShape(type: .boolean, isOptional: isAnyOptional)
        case .notBetween, .inList, .notInList, .contained, .notContained, .jsonValid:
            return ValueShape(type: .boolean, isOptional: true)
        case .concatenate, .upper, .lower, .castText, .trim, .ltrim, .rtrim, .replace, .hex:
            return ValueShape(type: .text, isOptional: isAnyOptional)
        case .typeof: return ValueShape(type: .text, isOptional: false)
        case .base64, .jsonKeys, .jsonType, .substring, .datetime, .geoJSON, .geoText, .member, .splitMember:
            return ValueShape(type: .text, isOptional: true)
        case .castInteger: return ValueShape(type: .integer, isOptional: isAnyOptional)
        case .castReal: return ValueShape(type: .real, isOptional: isAnyOptional)
        case .length, .instr, .jsonArrayLength, .bitAnd, .bitOr, .shiftLeft, .shiftRight:
            return ValueShape(type: .integer, isOptional: true)
        case .unixepoch:
            let isSubsecond = operands.contains(.literal(.text("subsec")))
            return ValueShape(type: isSubsecond ? .real : .integer, isOptional: true)
        case .geoX, .geoY, .round: return ValueShape(type: .real, isOptional: true)
        case .castBlob, .uuidBlob: return ValueShape(type: .bytes, isOptional: true)
        case .ifnull, .coalesce:
            let type = Self.merged(zip(operands, shapes).map { ($0, $1) }).type
            return ValueShape(type: type, isOptional: shapes.allSatisfy(\.isOptional))
        case .iif: return Self.merged([(operands[1], shapes[1]), (operands[2], shapes[2])])
        case .choice, .choiceOf: return choice(shapes, operands)
        case .abs, .nullif: return ValueShape(type: shapes[0].type, isOptional: true)
        case .castNumeric, .add, .subtract, .multiply, .divide, .remainder, .memberValue, .splitMemberValue,
            .memberValue1, .jsonExtract, .splitJSONExtract:
            return .unknown
        }
    }

    private func choice(_ shapes: [ValueShape], _ operands: [PlanExpression]) -> ValueShape {
        let pairs = zip(operands, shapes).map { ($0, $1) }.dropFirst(self == .choiceOf ? 1 : 0)
        var results = pairs.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        // Without ELSE there is an even number: a condition and a result each.
        let hasElse = pairs.count % 2 == 1
        if hasElse, let last = pairs.last { results.append(last) }
        let merged = Self.merged(results)
        return ValueShape(type: merged.type, isOptional: merged.isOptional || !hasElse)
    }

    /// What holds for one of several values; a NULL among them has any type.
    private static func merged(_ values: [(PlanExpression, ValueShape)]) -> ValueShape {
        var merged: ValueShape?
        var hasNull = false
        for (expression, shape) in values {
            if case .literal(let value) = expression, value.isNull {
                hasNull = true
            } else {
                merged = merged?.merged(with: shape) ?? shape
            }
        }
        guard var merged else { return .unknown }
        if hasNull { merged.isOptional = true }
        return merged
    }
}
