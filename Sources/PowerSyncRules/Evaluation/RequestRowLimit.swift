/// How many rows the table-valued functions of one request may give, over all its subscriptions.
///
/// They are evaluated once for a connection, before anything else limits what a client asks for, and kept for its life.
struct RequestRowLimit {
    /// The most rows that are evaluated.
    static let maximumRows = 1_000_000
    /// The most rows that are kept: those of each lookup that differ.
    static let maximumKeptRows = 100_000

    private var rows = maximumRows
    private var keptRows = maximumKeptRows

    /// Evaluates a function.
    ///
    /// - Throws: ``EvaluationError/tooManyRequestRows`` when there are more rows than may be evaluated, or an error of the function.
    mutating func rows(
        of function: TableFunction,
        in input: EvaluationInput
    ) throws(EvaluationError) -> [FunctionRow] {
        guard rows > 0 else { throw .tooManyRequestRows }
        let found = try function.rows(in: input)
        rows -= found.count
        guard rows >= 0 else { throw .tooManyRequestRows }
        return found
    }

    /// Counts a row that is kept.
    ///
    /// - Throws: ``EvaluationError/tooManyRequestRows`` when there are more than may be kept.
    mutating func keep() throws(EvaluationError) {
        guard keptRows > 0 else { throw .tooManyRequestRows }
        keptRows -= 1
    }
}
