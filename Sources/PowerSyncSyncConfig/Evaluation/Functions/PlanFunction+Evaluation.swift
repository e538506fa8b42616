extension PlanFunction {
    /// The value of a call.
    ///
    /// - Throws: ``EvaluationError``.
    func evaluate(
        _ operands: [PlanExpression],
        in input: EvaluationInput
    ) throws(EvaluationError) -> SQLValue {
        switch self {
        case .choice, .choiceOf, .iif, .ifnull, .coalesce:
            return try evaluateChoice(operands, in: input)
        case .member, .memberValue, .splitMember, .splitMemberValue, .memberValue1, .jsonExtract, .splitJSONExtract,
            .jsonKeys, .jsonArrayLength, .jsonType, .contained, .notContained:
            return try evaluateJSON(operands, in: input)
        default:
            var values: [SQLValue] = []
            values.reserveCapacity(operands.count)
            for operand in operands { values.append(try operand.evaluate(in: input)) }
            return try evaluate(values)
        }
    }

    /// Functions that do not evaluate all operands.
    private func evaluateChoice(
        _ operands: [PlanExpression],
        in input: EvaluationInput
    ) throws(EvaluationError) -> SQLValue {
        switch self {
        case .ifnull, .coalesce:
            for operand in operands {
                let value = try operand.evaluate(in: input)
                if value != .null { return value }
            }
            return .null
        case .choiceOf:
            let value = try operands[0].evaluate(in: input)
            var position = 1
            while position + 1 < operands.count {
                if try value.isEqual(to: operands[position].evaluate(in: input)) == true {
                    return try operands[position + 1].evaluate(in: input)
                }
                position += 2
            }
            return position < operands.count ? try operands[position].evaluate(in: input) : .null
        default:
            var position = 0
            while position + 1 < operands.count {
                if try operands[position].isTrue(in: input) { return try operands[position + 1].evaluate(in: input) }
                position += 2
            }
            return position < operands.count ? try operands[position].evaluate(in: input) : .null
        }
    }

    /// Functions of values.
    private func evaluate(_ values: [SQLValue]) throws(EvaluationError) -> SQLValue {
        switch self {
        case .equal, .unequal, .less, .greater, .lessOrEqual, .greaterOrEqual, .between, .notBetween, .inList,
            .notInList, .isNull, .isTrue, .isFalse, .nullif:
            try evaluateComparison(values)
        case .castText: values[0].cast(to: .text)
        case .castNumeric: values[0].cast(to: .numeric)
        case .castInteger: values[0].cast(to: .integer)
        case .castReal: values[0].cast(to: .real)
        case .castBlob: values[0].cast(to: .blob)
        case .add, .subtract, .multiply, .divide, .remainder, .bitAnd, .bitOr, .shiftLeft, .shiftRight, .abs, .round:
            Arithmetic.evaluate(self, values)
        case .unixepoch, .datetime: SQLTimestamp.evaluate(self, values)
        case .geoJSON, .geoText, .geoX, .geoY: try Geometry.evaluate(self, values[0])
        default: try evaluateText(values)
        }
    }

    private func evaluateComparison(_ values: [SQLValue]) throws(EvaluationError) -> SQLValue {
        func boolean(_ isTrue: Bool?) -> SQLValue { isTrue.map(SQLValue.boolean) ?? .null }
        switch self {
        case .equal: return boolean(try values[0].isEqual(to: values[1]))
        case .unequal: return boolean(try values[0].isEqual(to: values[1]).map { !$0 })
        case .less: return boolean(try values[0].order(to: values[1]).map { $0 == .ascending })
        case .greater: return boolean(try values[0].order(to: values[1]).map { $0 == .descending })
        case .lessOrEqual: return boolean(try values[0].order(to: values[1]).map { $0 != .descending })
        case .greaterOrEqual: return boolean(try values[0].order(to: values[1]).map { $0 != .ascending })
        case .between, .notBetween:
            guard let low = try values[0].order(to: values[1]), let high = try values[0].order(to: values[2]) else {
                return .null
            }
            return .boolean((low != .ascending && high != .descending) == (self == .between))
        case .inList, .notInList:
            return boolean(try Self.isIn(values).map { $0 == (self == .inList) })
        case .isNull: return .boolean(values[0] == .null)
        case .isTrue: return .boolean(values[0].isTrue)
        case .isFalse: return .boolean(values[0] != .null && !values[0].isTrue)
        default: return try values[0].isEqual(to: values[1]) == true ? .null : values[0]
        }
    }

    /// Whether the first value is among the others; `nil` when that is unknown.
    private static func isIn(_ values: [SQLValue]) throws(EvaluationError) -> Bool? {
        guard values[0] != .null else { return nil }
        var hasNull = false
        for element in values.dropFirst() {
            switch try values[0].isEqual(to: element) {
            case .some(true): return true
            case .none: hasNull = true
            case .some(false): break
            }
        }
        return hasNull ? nil : false
    }
}
