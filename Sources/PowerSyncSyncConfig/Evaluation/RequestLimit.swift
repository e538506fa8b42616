/// What one request may cost, over all its subscriptions.
///
/// Its values are evaluated before anything else limits what a client asks for, and kept for the life of a connection.
/// Each use counts, also of what subscriptions share: every one is combined, named and looked up.
struct RequestLimit {
    /// The most rows of table-valued functions that are evaluated.
    static let maximumRows = 1_000_000
    /// The most rows that are kept: those of each lookup that differ.
    static let maximumKeptRows = 100_000
    /// The most bytes that the texts of keys may have together: 16 MiB.
    static let maximumKeyBytes = 16 << 20

    private var rows = maximumRows
    private var keptRows = maximumKeptRows
    private var keyBytes = maximumKeyBytes

    /// Whether a function may be evaluated.
    var allowsRows: Bool { rows > 0 }

    /// Counts rows of a function.
    ///
    /// - Throws: ``EvaluationError/tooManyRequestRows`` when there are more than may be evaluated.
    mutating func evaluated(rows count: Int) throws(EvaluationError) {
        rows -= count
        guard rows >= 0 else { throw .tooManyRequestRows }
    }

    /// Counts a row that is kept.
    ///
    /// - Throws: ``EvaluationError/tooManyRequestRows`` when there are more than may be kept, or
    ///   ``EvaluationError/tooManyRequestBytes``.
    mutating func keep(_ row: ParameterRow) throws(EvaluationError) {
        guard keptRows > 0 else { throw .tooManyRequestRows }
        keptRows -= 1
        for value in row.values { try keep(value) }
    }

    /// Counts a value that is kept as a key.
    ///
    /// - Throws: ``EvaluationError/tooManyRequestBytes`` when it does not fit any more; shorter ones may.
    mutating func keep(_ value: SQLValue) throws(EvaluationError) {
        guard case .text(let text) = value else { return }
        guard text.utf8.count <= keyBytes else { throw .tooManyRequestBytes }
        keyBytes -= text.utf8.count
    }
}
