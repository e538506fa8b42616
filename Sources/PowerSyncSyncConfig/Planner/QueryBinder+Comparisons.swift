/// Comparisons whose result the types of their sides decide, and constants that can never work.
extension QueryBinder {
    /// Checks an expression that was made of some operands.
    ///
    /// Warnings are collected.
    ///
    /// - Parameters:
    ///   - result: The expression.
    ///   - operands: What it is made of.
    ///   - isNegated: Whether the opposite is written, as in `!=` and `NOT IN`.
    /// - Throws: `filter.null`, or the problem of a constant.
    mutating func check(_ result: Scalar, of operands: [Scalar], isNegated: Bool = false) throws(SQLProblem) {
        guard case .call(let function, _) = result.expression else { return try checkConstant(result) }
        try checkConstants(of: function, operands, at: result.range)
        try checkConstant(result)
        switch function {
        case .equal, .unequal, .less, .greater, .lessOrEqual, .greaterOrEqual:
            try compare(function, operands[0], operands[1], isNegated: isNegated, at: result.range)
        case .between, .notBetween:
            try checkRange(operands, isNegated: isNegated != (function == .notBetween), at: result.range)
        case .inList, .notInList:
            let isOpposite = isNegated != (function == .notInList)
            for element in operands.dropFirst() where element.expression != .literal(.null) {
                try compare(.equal, operands[0], element, isNegated: isOpposite, at: element.range, in: operands)
            }
            if operands.count > 1, operands.dropFirst().allSatisfy({ $0.expression == .literal(.null) }) {
                throw Self.nullComparison(at: result.range)
            }
        case .choiceOf:
            for position in stride(from: 1, to: operands.count - 1, by: 2) {
                let value = operands[position]
                if value.expression == .literal(.null) {
                    report(
                        .filterNever,
                        "Nothing is equal to NULL.",
                        hint: "Write “CASE WHEN … IS NULL”.",
                        at: value.range
                    )
                } else {
                    try compare(.equal, operands[0], value, isNegated: false, at: value.range)
                }
            }
        default: break
        }
    }

    /// Checks a condition that stands for itself.
    mutating func checkCondition(_ scalar: Scalar) {
        let types = types(of: scalar)
        switch types.classes {
        case .bytes:
            report(.filterNever, "“\(text(of: scalar))” is bytes, which are never true.", at: scalar.range)
        case .text where scalar.expression.isMember:
            report(
                .filterNever,
                "“\(text(of: scalar))” is JSON text, and the text “true” is not true.",
                hint: "Write “->>” for “->”.",
                at: scalar.range
            )
        default: break
        }
    }

    /// The values that an expression may have.
    func types(of scalar: Scalar) -> ValueTypes {
        scalar.expression.valueTypes { part in
            switch part {
            case .bucketParameter(let name):
                return options.parameterTypes[name] ?? .unknown
            case .column(let column):
                guard scalar.uses.count == 1, case .row(let set) = scalar.uses[0].dependency,
                    case .table(let pattern, _) = resultSets[set.rawValue].kind
                else { return .unknown }
                return options.schema?.type(of: column, in: pattern)?.valueTypes ?? .unknown
            default:
                return .unknown
            }
        }
    }

    private static func nullComparison(at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .filterNull,
            message: "A comparison with NULL is NULL, whatever is compared.",
            hint: "Write “IS NULL” or “IS NOT NULL”.",
            range: range
        )
    }
}

// MARK: - Two sides

extension QueryBinder {
    /// Checks a comparison of two sides.
    ///
    /// - Throws: `filter.null`, and `filter.bytes` where the language alone makes both sides bytes.
    private mutating func compare(
        _ function: PlanFunction,
        _ lhs: Scalar,
        _ rhs: Scalar,
        isNegated: Bool,
        at range: Range<Int>,
        in list: [Scalar] = []
    ) throws(SQLProblem) {
        let (left, right) = (types(of: lhs), types(of: rhs))
        guard !left.classes.isEmpty, !right.classes.isEmpty else { throw Self.nullComparison(at: range) }
        // What constants are is seen where the condition is.
        guard !lhs.uses.isEmpty || !rhs.uses.isEmpty else { return }
        if left.classes == .bytes, right.classes == .bytes {
            try reportBytes(left, right, at: range)
            return
        }
        if function == .equal || function == .unequal, noteJSONConstant((lhs, left), (rhs, right), at: range, in: list)
        {
            return
        }
        let verdict = left.ignoringNumericUserID.verdict(function, right.ignoringNumericUserID)
        // What is equal but for NULL, as in “CASE WHEN a THEN 1 END = 1”, is a test of NULL.
        let equality: ValueTypes.Verdict? =
            switch function {
            case .equal: .never
            case .unequal: .always
            default: nil
            }
        guard verdict != .open, verdict == equality ?? verdict else { return }
        let isAlways = (verdict == .always) != isNegated
        report(
            isAlways ? .filterAlways : .filterNever,
            "\(sentence(lhs, left)), \(sentence(rhs, right)): \(Self.outcome(function, isAlways)).",
            hint: hint((lhs, left), (rhs, right)),
            at: range
        )
    }

    private mutating func checkRange(_ operands: [Scalar], isNegated: Bool, at range: Range<Int>) throws(SQLProblem) {
        let all = operands.map { types(of: $0) }
        guard all.allSatisfy({ !$0.classes.isEmpty }) else { throw Self.nullComparison(at: range) }
        let verdicts = [
            all[0].verdict(.greaterOrEqual, all[1]), all[0].verdict(.lessOrEqual, all[2]),
        ]
        let isNever = verdicts.contains(.never)
        guard operands.contains(where: { !$0.uses.isEmpty }), isNever || verdicts == [.always, .always] else { return }
        let isAlways = isNever == isNegated
        report(
            isAlways ? .filterAlways : .filterNever,
            """
            \(sentence(operands[0], all[0])), \(sentence(operands[1], all[1])): \
            the value is \(isNever ? "never" : "always") between them.
            """,
            hint: hint((operands[0], all[0]), (operands[1], all[1])),
            at: range
        )
    }

    private mutating func reportBytes(
        _ left: ValueTypes,
        _ right: ValueTypes,
        at range: Range<Int>
    ) throws(SQLProblem) {
        let hint = "Compare their digits: hex(…) = hex(…)."
        let message = "Bytes cannot be compared with bytes: all rows are left out."
        // With a schema a config compiles to the same as without it.
        let needsSchema = [left, right].contains { if case .column = $0.origin { true } else { false } }
        guard needsSchema else { throw SQLProblem(code: .filterBytes, message: message, hint: hint, range: range) }
        report(.filterNever, message, hint: hint, at: range)
    }

    /// Warns about a JSON value that is compared with what its text would be.
    ///
    /// - Returns: Whether there was something to say.
    private mutating func noteJSONConstant(
        _ lhs: (scalar: Scalar, types: ValueTypes),
        _ rhs: (scalar: Scalar, types: ValueTypes),
        at range: Range<Int>,
        in list: [Scalar]
    ) -> Bool {
        for (value, constant) in [(lhs, rhs), (rhs, lhs)] {
            guard case .literal(.text(let text)) = constant.scalar.expression else { continue }
            switch (value.types.origin, text.lowercased()) {
            case (.json, "true"), (.json, "false"):
                let number = SQLValue.integer(text.lowercased() == "true" ? 1 : 0)
                if list.contains(where: { $0.expression == .literal(number) }) { return true }
                report(
                    .filterNever,
                    "JSON \(text.lowercased()) is \(number) here: “\(self.text(of: value.scalar))” equals only the text "
                        + "“\(text)”.",
                    hint: "Write “\(text.lowercased())” for “\(self.text(of: constant.scalar))”.",
                    at: range
                )
                return true
            case (.json, "null") where !value.scalar.expression.isSplitExtract:
                report(
                    .filterNever,
                    "JSON null is NULL here: “\(self.text(of: value.scalar))” equals only the text “\(text)”.",
                    hint: "Write “IS NULL”.",
                    at: range
                )
                return true
            case (.jsonText, _) where JSONNode(parsing: text)?.text.hasSameBytes(as: text) != true:
                report(
                    .filterNever,
                    "“\(self.text(of: value.scalar))” is JSON text, and “\(text)” is none.",
                    hint: "Write “->>” for “->”.",
                    at: range
                )
                return true
            default: break
            }
        }
        return false
    }
}

// MARK: - Sentences

extension QueryBinder {
    /// An expression as it is written, cut if it is long.
    private func text(of scalar: Scalar) -> String {
        let text = sources.text(of: scalar.range)
        return text.count > 60 ? "\(text.prefix(60))…" : text
    }

    private func sentence(_ scalar: Scalar, _ types: ValueTypes) -> String {
        let name = "“\(text(of: scalar))”"
        switch types.origin {
        case .userID: return "\(name) is text, unless the “sub” of a token is a number"
        case .column(let type): return "\(name) is \(types.description) (\(type.declaration) in the source)"
        default: return "\(name) is \(types.description)"
        }
    }

    private static func outcome(_ function: PlanFunction, _ isAlways: Bool) -> String {
        let isEquality = function == .equal || function == .unequal
        return (isEquality ? "they are never equal, so " : "")
            + (isAlways ? "this is always true" : "this is never true")
    }

    /// What to write for one of the sides.
    private func hint(
        _ lhs: (scalar: Scalar, types: ValueTypes),
        _ rhs: (scalar: Scalar, types: ValueTypes)
    ) -> String? {
        for (own, other) in [(lhs, rhs), (rhs, lhs)] {
            if let instead = replacement(own, other) { return "Write “\(instead)” for “\(text(of: own.scalar))”." }
        }
        return nil
    }

    private func replacement(
        _ own: (scalar: Scalar, types: ValueTypes),
        _ other: (scalar: Scalar, types: ValueTypes)
    ) -> String? {
        let text = sources.text(of: own.scalar.range)
        // The literal that the other side has a place for.
        if case .literal(.text(let literal)) = own.scalar.expression, other.types.classes == .number {
            if other.types.values == ValueTypes.boolean.values {
                return Self.booleans[literal.lowercased()]
            }
            let number = NumericPrefix.number(literal)
            return number.map { "\($0)" }
        }
        guard case .column(let type) = own.types.origin else { return nil }
        switch (DeclaredType(declaration: type.declaration), other.types.classes) {
        case (.decimal, .number): return "CAST(\(text) AS numeric)"
        case (.date, .number): return "unixepoch(\(text))"
        case (.integer, .text), (.real, .text):
            if case .literal = other.scalar.expression { return nil }
            return "CAST(\(text) AS text)"
        case (.integer, _) where other.types.origin == .userID, (.real, _) where other.types.origin == .userID:
            return "CAST(\(text) AS text)"
        case (.text, .number):
            if case .column = other.types.origin { return nil }
            return "CAST(\(text) AS numeric)"
        default: return nil
        }
    }

    private static let booleans = [
        "true": "true", "t": "true", "yes": "true", "on": "true", "1": "true", "y": "true",
        "false": "false", "f": "false", "no": "false", "off": "false", "0": "false", "n": "false",
    ]
}

extension PlanExpression {
    /// Whether the expression is `->`.
    fileprivate var isMember: Bool {
        if case .call(.member, _) = self { return true }
        if case .call(.splitMember, _) = self { return true }
        return false
    }

    /// Whether the expression is `json_extract()` of edition 1, for which JSON null is the text “null”.
    fileprivate var isSplitExtract: Bool {
        if case .call(.splitJSONExtract, _) = self { true } else { false }
    }
}

extension ValueTypes {
    /// The values, for a user's id without the numbers that it rarely is.
    fileprivate var ignoringNumericUserID: ValueTypes {
        origin == .userID ? ValueTypes(classes: .text, origin: .userID) : self
    }

    fileprivate var description: String {
        if values == Self.boolean.values { return "1 or 0" }
        switch classes {
        case .number: return "a number"
        case .text: return "text"
        case .bytes: return "bytes"
        default: return "a number or text"
        }
    }
}
