/// What can be read when a config is compiled is checked then: paths, modifiers of dates, and calls of constants.
extension QueryBinder {
    /// Checks the constants among the operands of a function.
    ///
    /// - Throws: `sql.json_path`, `sql.date_modifier`, `sql.nondeterministic` or `sql.constant`.
    func checkConstants(
        of function: PlanFunction,
        _ operands: [Scalar],
        at range: Range<Int>
    ) throws(SQLProblem) {
        switch function {
        case .member, .memberValue, .splitMember, .splitMemberValue:
            guard case .literal(.text(let path)) = operands[1].expression, path.hasPrefix("$") else { return }
            // Before `fixed_json_extract`, what stands between $ and the first dot is ignored.
            let isIgnored = function == .splitMember || function == .splitMemberValue
            guard !isIgnored || path.hasPrefix("$.") || path.hasPrefix("$[") else { return }
            try checkPath(path, at: operands[1].range)
        case .jsonExtract, .splitJSONExtract, .jsonArrayLength, .jsonType:
            guard operands.count > 1, case .literal(let key) = operands[1].expression, let path = key.text else {
                return
            }
            guard path.hasPrefix("$") else {
                throw SQLProblem(
                    code: .sqlJSONPath,
                    message: "“\(path)” is no path: a path begins with $.",
                    hint: "Write “\(path.hasPrefix("[") ? "$" : "$.")\(path)” for “\(path)”.",
                    range: operands[1].range
                )
            }
            try checkPath(path, at: operands[1].range)
        case .unixepoch, .datetime:
            try checkDate(operands, at: range)
        case .contained, .notContained:
            guard operands[1].uses.isEmpty else { return }
            guard case .array? = Self.constantJSON(operands[1]) else { throw noArray(operands[1]) }
        default: return
        }
    }

    /// Checks an expression that reads nothing: evaluating it must not fail for each row.
    ///
    /// - Throws: `sql.constant`.
    func checkConstant(_ scalar: Scalar) throws(SQLProblem) {
        guard scalar.uses.isEmpty else { return }
        do {
            _ = try scalar.expression.evaluate(in: EvaluationInput())
        } catch {
            throw SQLProblem(
                code: .sqlConstant,
                message: "This can never be evaluated: \(error).",
                range: scalar.range
            )
        }
    }

    /// Checks the JSON array whose elements are read, if it is a constant.
    ///
    /// - Throws: `sql.constant`.
    func checkArray(_ array: Scalar) throws(SQLProblem) {
        if array.uses.isEmpty, Self.constantJSON(array) == nil { throw noArray(array) }
    }

    private static func constantJSON(_ scalar: Scalar) -> JSONNode? {
        (try? scalar.expression.evaluateJSON(in: EvaluationInput())) ?? nil
    }

    private func noArray(_ scalar: Scalar) -> SQLProblem {
        let text = sources.text(of: scalar.range)
        return SQLProblem(
            code: .sqlConstant,
            message: "“\(text)” is no JSON array.",
            hint: scalar.expression == .literal(.null) ? nil : "Write “(\(text))” for “\(text)”.",
            range: scalar.range
        )
    }

    private func checkPath(_ path: String, at range: Range<Int>) throws(SQLProblem) {
        guard let problem = JSONPath.problem(with: path) else { return }
        throw SQLProblem(code: .sqlJSONPath, message: problem.message, hint: problem.hint, range: range)
    }

    private func checkDate(_ operands: [Scalar], at range: Range<Int>) throws(SQLProblem) {
        if case .literal(.text(let text)) = operands[0].expression, text.lowercased() == "now" {
            throw moment("'now'", at: operands[0].range)
        }
        for (position, operand) in operands.enumerated().dropFirst() {
            guard case .literal(let value) = operand.expression, let text = value.text else { continue }
            guard !["localtime", "utc"].contains(text.lowercased()) else {
                throw moment("'\(text)'", at: operand.range)
            }
            guard let modifier = DateModifier(text) else {
                throw SQLProblem(
                    code: .sqlDateModifier,
                    message: "“\(text)” is no modifier of a date.",
                    hint: NearName.hint(for: text, among: DateModifier.examples)
                        ?? "Modifiers are like '+1 day', 'start of month', 'weekday 1', 'unixepoch' and 'subsec'.",
                    range: operand.range
                )
            }
            if modifier.isFirstOnly, position > 1 {
                throw SQLProblem(
                    code: .sqlDateModifier,
                    message: "“\(text)” says what the first argument is, and can only be the first modifier.",
                    hint: "Put it directly behind the first argument.",
                    range: operand.range
                )
            }
        }
        let constants = operands.compactMap { operand in
            if case .literal(let value) = operand.expression { value } else { SQLValue?.none }
        }
        guard constants.count == operands.count, constants[0] != .null,
            SQLTimestamp.evaluate(.datetime, constants) == .null
        else { return }
        throw SQLProblem(
            code: .sqlConstant,
            message: "“\(sources.text(of: operands[0].range))” is no date.",
            hint: "Write '2024-02-29' or '2024-02-29 12:30:00'.",
            range: range
        )
    }

    private func moment(_ what: String, at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .sqlNondeterministic,
            message: "\(what) depends on the moment or the server: what a row becomes must depend on the row only.",
            hint: "Compare the date on the client.",
            range: range
        )
    }
}

extension DateModifier {
    /// Modifiers that may be meant.
    fileprivate static let examples = [
        "unixepoch", "julianday", "auto", "subsec", "start of day", "start of month", "start of year", "weekday 0",
    ]
}
