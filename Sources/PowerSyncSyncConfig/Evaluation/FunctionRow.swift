/// A row of a table-valued function.
struct FunctionRow: Sendable {
    /// The number of an element, the name of a member, `NULL` for a value that is neither array nor object.
    var key: SQLValue
    /// The element, the value of the member, or the value itself.
    var value: SQLValue

    /// How many combinations of rows of several functions one source row may have.
    static let maximumCombinations = 100_000

    /// A column of the row.
    subscript(column: TableFunction.Column) -> SQLValue {
        switch column {
        case .key: key
        case .value: value
        }
    }
}

extension TableFunction {
    /// The rows of the function.
    ///
    /// What is no array in a request has no elements for ``Kind/arrayElements``: the established service finds nothing
    /// then, and goes on with the other queries of the definition.
    ///
    /// - Throws: ``EvaluationError/notJSON`` for an argument that is neither `NULL` nor JSON text, and
    ///   ``EvaluationError/notJSONArray`` for a column that has to be an array.
    func rows(in input: EvaluationInput) throws(EvaluationError) -> [FunctionRow] {
        let isOptional = kind == .arrayElements && input.request != nil
        let node: JSONNode?
        do throws(EvaluationError) {
            node = try argument.evaluateJSON(in: input)
        } catch .notJSON where isOptional {
            return []
        }
        guard let node else { return [] }
        switch node {
        case .array(let elements):
            return elements.enumerated().map { FunctionRow(key: .integer(Int64($0.offset)), value: $0.element.value) }
        case _ where isOptional:
            return []
        case _ where kind == .arrayElements:
            throw .notJSONArray
        case .object(let members):
            return members.map { FunctionRow(key: .text($0.name), value: $0.value.value) }
        default:
            return [FunctionRow(key: .null, value: node.value)]
        }
    }
}

extension [TableFunction] {
    /// All combinations of the rows of the functions; one empty combination when there are none.
    ///
    /// - Throws: ``EvaluationError``.
    func combinations(in input: EvaluationInput) throws(EvaluationError) -> [[FunctionRow]] {
        var combinations: [[FunctionRow]] = [[]]
        for function in self {
            let rows = try function.rows(in: input)
            guard combinations.count * rows.count <= FunctionRow.maximumCombinations else { throw .tooManyRows }
            combinations = combinations.flatMap { combination in rows.map { combination + [$0] } }
        }
        return combinations
    }
}
