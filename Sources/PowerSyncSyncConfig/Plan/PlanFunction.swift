/// The operators and functions of a plan; raw values are the names in stored plans.
package enum PlanFunction: String, Sendable, Hashable, Codable, CaseIterable {
    // Comparisons: NULL for NULL.
    case equal, unequal, less, greater, lessOrEqual, greaterOrEqual
    /// `a BETWEEN b AND c`; `notBetween` is NULL for NULL, which its negation is not.
    case between, notBetween
    /// `a IN ARRAY[…]`; the first operand is `a`. `notInList` is NULL for NULL.
    case inList, notInList
    /// Whether the JSON array of the second operand contains the first. `notContained` is NULL for NULL.
    case contained, notContained
    case isNull, isTrue, isFalse
    case add, subtract, multiply, divide, remainder, bitAnd, bitOr, shiftLeft, shiftRight, concatenate
    case castText, castNumeric, castInteger, castReal, castBlob
    /// `CASE WHEN c THEN r … ELSE e END`: conditions and results in turn, then the rest.
    case choice
    /// `CASE v WHEN c THEN r … ELSE e END`: the value first.
    case choiceOf
    /// `->`, `->>`, and how they were before `fixed_json_extract`.
    case member, memberValue, splitMember, splitMemberValue
    /// `->>` as version 1 of the plan has it, with quoted members in paths.
    case memberValue1
    case upper, lower, length, typeof, hex, base64
    case uuidBlob = "uuid_blob"
    case jsonKeys = "json_keys"
    case jsonValid = "json_valid"
    case jsonExtract = "json_extract"
    case splitJSONExtract = "split_json_extract"
    case jsonArrayLength = "json_array_length"
    case jsonType = "json_type"
    case substring, instr, ifnull, iif, coalesce, nullif, abs, round, trim, ltrim, rtrim, replace
    case unixepoch, datetime
    case geoJSON = "st_asgeojson"
    case geoText = "st_astext"
    case geoX = "st_x"
    case geoY = "st_y"

    /// The numbers of operands that are possible.
    var arity: ClosedRange<Int> {
        if let function = SQLFunction.table.first(where: { $0.function == self }) { return function.arity }
        switch self {
        case .isNull, .isTrue, .isFalse, .castText, .castNumeric, .castInteger, .castReal, .castBlob: return 1...1
        case .between, .notBetween: return 3...3
        case .inList, .notInList: return 1...Int.max
        case .choice: return 1...Int.max
        case .choiceOf: return 2...Int.max
        default: return 2...2
        }
    }
}

/// A function that queries can call.
///
/// This is the one list of them: the compiler checks names and arguments against it.
struct SQLFunction {
    /// The name in queries.
    let name: String
    /// The numbers of arguments that are possible.
    let arity: ClosedRange<Int>
    /// What computes it.
    let function: PlanFunction

    private init(_ name: String, _ arity: ClosedRange<Int>, _ function: PlanFunction) {
        self.name = name
        self.arity = arity
        self.function = function
    }

    /// All functions.
    static let table: [SQLFunction] = [
        SQLFunction("upper", 1...1, .upper), SQLFunction("lower", 1...1, .lower),
        SQLFunction("length", 1...1, .length), SQLFunction("typeof", 1...1, .typeof),
        SQLFunction("hex", 1...1, .hex), SQLFunction("base64", 1...1, .base64),
        SQLFunction("uuid_blob", 1...1, .uuidBlob), SQLFunction("json_keys", 1...1, .jsonKeys),
        SQLFunction("json_valid", 1...1, .jsonValid), SQLFunction("json_extract", 2...2, .jsonExtract),
        SQLFunction("json_array_length", 1...2, .jsonArrayLength), SQLFunction("json_type", 1...2, .jsonType),
        SQLFunction("substring", 2...3, .substring),
        SQLFunction("instr", 2...2, .instr), SQLFunction("ifnull", 2...2, .ifnull),
        SQLFunction("iif", 3...3, .iif), SQLFunction("coalesce", 2...Int.max, .coalesce),
        SQLFunction("nullif", 2...2, .nullif), SQLFunction("abs", 1...1, .abs),
        SQLFunction("round", 1...2, .round), SQLFunction("trim", 1...2, .trim),
        SQLFunction("ltrim", 1...2, .ltrim), SQLFunction("rtrim", 1...2, .rtrim),
        SQLFunction("replace", 3...3, .replace), SQLFunction("unixepoch", 1...Int.max, .unixepoch),
        SQLFunction("datetime", 1...Int.max, .datetime), SQLFunction("st_asgeojson", 1...1, .geoJSON),
        SQLFunction("st_astext", 1...1, .geoText), SQLFunction("st_x", 1...1, .geoX),
        SQLFunction("st_y", 1...1, .geoY),
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: table.map { ($0.name, $0) })

    /// Finds a function by its folded name.
    static func named(_ name: String) -> SQLFunction? { byName[name] }

    /// The names of all functions.
    static var names: [String] { table.map(\.name) }

    /// Functions whose result is not determined by the row: never allowed.
    static let nondeterministic: Set<String> = [
        "random", "randomblob", "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp",
        "gen_random_uuid", "uuid_generate_v4", "uuid", "last_insert_rowid", "changes", "total_changes", "timeofday",
    ]
}
