/// The values that an expression may have besides `NULL`, as far as constants, operators and the schema of the source tell.
struct ValueTypes {
    /// Values that are never equal to each other.
    struct Classes: OptionSet {
        let rawValue: Int

        static let number = Classes(rawValue: 1)
        static let text = Classes(rawValue: 2)
        static let bytes = Classes(rawValue: 4)
        static let all: Classes = [.number, .text, .bytes]
    }

    /// Where the values come from, as far as that says more about them.
    enum Origin: Hashable {
        case other
        /// A value of JSON, where true is 1 and `null` is `NULL`.
        case json
        /// JSON text.
        case jsonText
        /// The user's id, which is text unless a token has a number.
        case userID
        /// A column of the source.
        case column(SourceSchema.ColumnType)
    }

    /// What the values are; empty when there is only `NULL`.
    var classes: Classes
    /// All values, where there are few.
    var values: [SQLValue]?
    /// Where they come from.
    var origin = Origin.other

    static let unknown = ValueTypes(classes: .all)
    static let null = ValueTypes(classes: [])
    static let boolean = ValueTypes(classes: .number, values: [0, 1])

    /// What holds for one of two.
    func merged(with other: ValueTypes) -> ValueTypes {
        if classes.isEmpty { return other }
        if other.classes.isEmpty { return self }
        var merged = ValueTypes(classes: classes.union(other.classes))
        if let values, let others = other.values, values.count + others.count <= 8 { merged.values = values + others }
        if origin == other.origin { merged.origin = origin }
        return merged
    }
}

extension SourceSchema.ColumnType {
    /// The values of the column.
    var valueTypes: ValueTypes {
        var types: ValueTypes =
            switch values {
            case .boolean: .boolean
            case .number: ValueTypes(classes: .number)
            case .text: ValueTypes(classes: .text)
            case .bytes: ValueTypes(classes: .bytes)
            }
        types.origin = .column(self)
        return types
    }
}

// MARK: - Expressions

extension PlanExpression {
    /// The values that the expression may have.
    ///
    /// - Parameter known: The values of a column or of a parameter of a bucket definition.
    /// - Returns: The values.
    func valueTypes(_ known: (PlanExpression) -> ValueTypes) -> ValueTypes {
        switch self {
        case .literal(let value): return value.valueTypes
        case .column, .bucketParameter: return known(self)
        case .metadata: return ValueTypes(classes: .text)
        case .output: return ValueTypes(classes: [.number, .text], origin: .json)
        case .request: return ValueTypes(classes: .text, origin: .jsonText)
        case .not, .and, .or: return .boolean
        case .call(let function, let operands): return function.valueTypes(of: operands, known)
        case .cell, .failure: return .unknown
        }
    }
}

extension SQLValue {
    fileprivate var valueTypes: ValueTypes {
        switch self {
        case .null: .null
        case .integer, .real: ValueTypes(classes: .number, values: [self])
        case .text: ValueTypes(classes: .text, values: [self])
        case .blob: ValueTypes(classes: .bytes, values: [self])
        }
    }
}

extension PlanFunction {
    fileprivate func valueTypes(
        of operands: [PlanExpression],
        _ known: (PlanExpression) -> ValueTypes
    ) -> ValueTypes {
        func types(_ operands: some Sequence<PlanExpression>) -> [ValueTypes] { operands.map { $0.valueTypes(known) } }
        func merged(_ operands: some Sequence<PlanExpression>) -> ValueTypes {
            types(operands).reduce(.null) { $0.merged(with: $1) }
        }
        switch self {
        case .isNull, .isTrue, .isFalse, .jsonValid: return .boolean
        case .typeof:
            return ValueTypes(classes: .text, values: ["null", "integer", "real", "text", "blob"])
        case .hex, .base64: return ValueTypes(classes: .text)
        case .choice, .choiceOf:
            let rest = operands.dropFirst(self == .choiceOf ? 1 : 0).enumerated()
            return merged(rest.filter { $0.offset % 2 == 1 || $0.offset == rest.count - 1 }.map(\.element))
        case .iif: return merged(operands.dropFirst())
        case .ifnull, .coalesce: return merged(operands)
        case .nullif: return merged(operands.prefix(1))
        case .inList, .notInList: return operands.first.map { types([$0]) }?.first?.classes == [] ? .null : .boolean
        default:
            // All others are NULL for NULL.
            let isNull =
                types(operands.prefix(2)).contains { $0.classes.isEmpty } && self != .unixepoch && self != .datetime
            return isNull ? .null : resultTypes(operands)
        }
    }

    /// The values of what is `NULL` for `NULL`.
    private func resultTypes(_ operands: [PlanExpression]) -> ValueTypes {
        switch self {
        case .equal, .unequal, .less, .greater, .lessOrEqual, .greaterOrEqual, .between, .notBetween, .contained,
            .notContained:
            .boolean
        case .add, .subtract, .multiply, .divide, .remainder, .bitAnd, .bitOr, .shiftLeft, .shiftRight, .castNumeric,
            .castInteger, .castReal, .length, .instr, .jsonArrayLength, .abs, .round, .unixepoch, .geoX, .geoY:
            ValueTypes(classes: .number)
        case .castBlob, .uuidBlob: ValueTypes(classes: .bytes)
        case .member, .splitMember: ValueTypes(classes: .text, origin: .jsonText)
        case .memberValue where operands == [.request(.auth), .literal("$.sub")]:
            ValueTypes(classes: [.number, .text], origin: .userID)
        case .memberValue, .splitMemberValue, .memberValue1, .jsonExtract, .splitJSONExtract:
            ValueTypes(classes: [.number, .text], origin: .json)
        default: ValueTypes(classes: .text)
        }
    }
}

// MARK: - Comparisons

extension ValueTypes {
    /// What a comparison of two values is, unless one of them is `NULL`.
    enum Verdict: Hashable {
        case never, always, open
    }

    /// What `=`, `<` and the like are for two values.
    func verdict(_ function: PlanFunction, _ other: ValueTypes) -> Verdict {
        var results: Set<Bool?> = []
        for lhs in samples {
            for rhs in other.samples { results.insert(Self.holds(function, lhs, rhs)) }
        }
        if results == [true] { return .always }
        return results == [false] ? .never : .open
    }

    /// A value that is known, or what is known of it.
    private enum Sample {
        case value(SQLValue)
        case some(Classes)

        /// The class, in the order of the language.
        var rank: Int {
            switch self {
            case .value(.null): 0
            case .value(.integer), .value(.real): 1
            case .value(.text): 2
            case .value(.blob): 4
            case .some(let classes): classes.rawValue
            }
        }
    }

    private var samples: [Sample] {
        if let values { return values.map(Sample.value) }
        return [.number, .text, .bytes].filter(classes.contains).map(Sample.some)
    }

    private static func holds(_ function: PlanFunction, _ lhs: Sample, _ rhs: Sample) -> Bool? {
        var order: SQLValue.Order?
        if lhs.rank != rhs.rank {
            order = lhs.rank < rhs.rank ? .ascending : .descending
        } else if case .value(let lhs) = lhs, case .value(let rhs) = rhs {
            order = (try? lhs.order(to: rhs)) ?? nil
        }
        guard let order else { return nil }
        switch function {
        case .equal: return order == .same
        case .unequal: return order != .same
        case .less: return order == .ascending
        case .greater: return order == .descending
        case .lessOrEqual: return order != .descending
        case .greaterOrEqual: return order != .ascending
        default: return nil
        }
    }
}
