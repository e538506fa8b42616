import PowerSyncProtocol

/// Expressions as people write them, for explanations.
///
/// It need not compile to the same plan: names are quoted only where that is easy to see.
extension PlanExpression {
    /// The expression in SQL.
    ///
    /// - Parameter functions: The table-valued functions that its outputs refer to.
    /// - Returns: A text without line breaks of its own.
    func sql(functions: [TableFunction] = []) -> String {
        func sql(_ expression: PlanExpression) -> String { expression.sql(functions: functions) }
        func operand(_ expression: PlanExpression) -> String { expression.operandSQL(functions: functions) }
        switch self {
        case .literal(.text(let text)): return "'\(text.replacing("'", with: "''"))'"
        case .literal(let value): return value == .null ? "NULL" : value.description
        case .column(let name): return Self.quoted(name)
        case .cell(let position): return "column \(position)"
        case .failure(let position): return "failure \(position)"
        case .metadata(let metadata): return "\(metadata.sqlName)()"
        case .output(let function, let column):
            guard functions.indices.contains(function) else { return column.rawValue }
            return "\(functions[function].sql).\(column.rawValue)"
        case .request(let part): return "\(part.rawValue).parameters()"
        case .not(let term): return "NOT \(operand(term))"
        case .and(let terms): return terms.map(operand).joined(separator: " AND ")
        case .or(let terms): return terms.map(operand).joined(separator: " OR ")
        case .bucketParameter(let name): return "bucket.\(Self.quoted(name))"
        case .call(let function, let operands):
            if let request = Self.requestSQL(function, operands, functions) { return request }
            if let name = function.binaryOperator, operands.count == 2 {
                return "\(operand(operands[0])) \(name) \(operand(operands[1]))"
            }
            return function.sql(operands.map(sql), operand: operands.first.map(operand) ?? "")
        }
    }

    private func operandSQL(functions: [TableFunction]) -> String {
        let sql = sql(functions: functions)
        switch self {
        case .literal, .column, .cell, .metadata, .output, .request, .failure, .bucketParameter: return sql
        case .call(let function, let operands):
            let isSimple =
                Self.requestSQL(function, operands, functions) != nil || SQLFunction.named(function.rawValue) != nil
            return isSimple ? sql : "(\(sql))"
        case .not, .and, .or: return "(\(sql))"
        }
    }

    /// `auth.user_id()` or `auth.parameter('k')`.
    private static func requestSQL(
        _ function: PlanFunction,
        _ operands: [PlanExpression],
        _ functions: [TableFunction]
    ) -> String? {
        guard [.memberValue, .splitMemberValue, .memberValue1].contains(function), operands.count == 2,
            case .request(let part) = operands[0]
        else { return nil }
        if part == .auth, operands[1] == .literal("$.sub") { return "auth.user_id()" }
        return "\(part.rawValue).parameter(\(operands[1].sql(functions: functions)))"
    }

    /// A name, in quotes if it would be folded or is no word.
    static func quoted(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        return isPlain && !name.isEmpty ? name : "\"\(name.replacing("\"", with: "\"\""))\""
    }
}

extension TableFunction {
    /// The call in SQL.
    var sql: String { "\(kind.rawValue)(\(argument.sql()))" }
}

extension PlanExpression.TableMetadata {
    fileprivate var sqlName: String {
        switch self {
        case .schema: "schema"
        case .tableName: "table_name"
        case .tableSuffix: "table_suffix"
        }
    }
}

extension PlanFunction {
    fileprivate var binaryOperator: String? {
        switch self {
        case .equal: "="
        case .unequal: "!="
        case .less: "<"
        case .greater: ">"
        case .lessOrEqual: "<="
        case .greaterOrEqual: ">="
        case .add: "+"
        case .subtract: "-"
        case .multiply: "*"
        case .divide: "/"
        case .remainder: "%"
        case .bitAnd: "&"
        case .bitOr: "|"
        case .shiftLeft: "<<"
        case .shiftRight: ">>"
        case .concatenate: "||"
        case .member, .splitMember: "->"
        case .memberValue, .splitMemberValue, .memberValue1: "->>"
        case .contained: "IN"
        case .notContained: "NOT IN"
        default: nil
        }
    }

    /// The call of what is no operator with two sides.
    fileprivate func sql(_ operands: [String], operand first: String) -> String {
        let rest = operands.dropFirst()
        switch self {
        case .isNull: return "\(first) IS NULL"
        case .isTrue: return "\(first) IS TRUE"
        case .isFalse: return "\(first) IS FALSE"
        case .between, .notBetween:
            return "\(first) \(self == .between ? "" : "NOT ")BETWEEN \(rest.joined(separator: " AND "))"
        case .inList, .notInList:
            return "\(first) \(self == .inList ? "" : "NOT ")IN (\(rest.joined(separator: ", ")))"
        case .castText, .castNumeric, .castInteger, .castReal, .castBlob:
            return "\(first)::\(rawValue.dropFirst("cast".count).lowercased())"
        case .choice, .choiceOf:
            var pieces = ["CASE"]
            var parts = operands[...]
            if self == .choiceOf, let value = parts.popFirst() { pieces.append(value) }
            while parts.count >= 2 {
                pieces.append("WHEN \(parts.removeFirst()) THEN \(parts.removeFirst())")
            }
            pieces += parts.map { "ELSE \($0)" } + ["END"]
            return pieces.joined(separator: " ")
        default:
            return "\(self == .splitJSONExtract ? "json_extract" : rawValue)(\(operands.joined(separator: ", ")))"
        }
    }
}
