/// Comparisons of the default engine (docs/sync-config.md "Values").
extension SQLValue {
    /// How two values compare.
    enum Order {
        case ascending, same, descending
    }

    /// Whether two values are equal by `=`, or `nil` when one of them is `NULL`.
    ///
    /// - Throws: ``EvaluationError/bytesCompared`` for two values that are bytes.
    func isEqual(to other: SQLValue) throws(EvaluationError) -> Bool? {
        if case .text(let lhs) = self, case .text(let rhs) = other { return lhs.hasSameBytes(as: rhs) }
        return try order(to: other).map { $0 == .same }
    }

    /// How two values compare, or `nil` when one of them is `NULL`: numbers before texts before bytes.
    ///
    /// Integers and reals are compared as exact numbers, texts by their UTF-16 code units.
    ///
    /// - Throws: ``EvaluationError/bytesCompared`` for two values that are bytes.
    func order(to other: SQLValue) throws(EvaluationError) -> Order? {
        switch (self, other) {
        case (.null, _), (_, .null): return nil
        case (.integer(let lhs), .integer(let rhs)): return Self.order(lhs, rhs)
        case (.real(let lhs), .real(let rhs)): return lhs.isNaN || rhs.isNaN ? nil : Self.order(lhs, rhs)
        case (.integer(let lhs), .real(let rhs)): return Self.order(lhs, rhs)
        case (.real(let lhs), .integer(let rhs)):
            switch Self.order(rhs, lhs) {
            case .ascending: return .descending
            case .descending: return .ascending
            case let order: return order
            }
        case (.text(let lhs), .text(let rhs)): return Self.order(lhs, rhs)
        case (.blob, .blob): throw .bytesCompared
        default: return Self.order(typeRank, other.typeRank)
        }
    }

    private var typeRank: Int {
        switch self {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func order<Value: Comparable>(_ lhs: Value, _ rhs: Value) -> Order {
        lhs < rhs ? .ascending : lhs == rhs ? .same : .descending
    }

    /// Compares without rounding either number.
    private static func order(_ integer: Int64, _ real: Double) -> Order? {
        if real.isNaN { return nil }
        if real >= 9_223_372_036_854_775_808.0 { return .ascending }
        if real < -9_223_372_036_854_775_808.0 { return .descending }
        let whole = real.rounded(.towardZero)
        let order = order(integer, Int64(whole))
        return order == .same ? self.order(whole, real) : order
    }

    private static func order(_ lhs: String, _ rhs: String) -> Order {
        if lhs.hasSameBytes(as: rhs) { return .same }
        return lhs.utf16.lexicographicallyPrecedes(rhs.utf16) ? .ascending : .descending
    }
}
