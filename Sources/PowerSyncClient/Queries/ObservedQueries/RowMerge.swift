/// Puts a new result in the place of the one that is shown.
///
/// Rows that are equal stay: of a class, the object; of a value, its memory.
struct RowMerge<Row: Sendable & Equatable>: Sendable {
    private let merge: @Sendable (_ shown: [Row], _ rows: [Row]) -> [Row]

    /// Merges two results.
    ///
    /// - Returns: What to show; `nil` when both are equal.
    func callAsFunction(_ shown: [Row], _ rows: [Row]) -> [Row]? {
        shown == rows ? nil : merge(shown, rows)
    }

    /// Takes the row in the same place for the same row.
    static func byPosition() -> RowMerge {
        RowMerge { shown, rows in
            rows.enumerated().map { index, row in
                index < shown.count && shown[index] == row ? shown[index] : row
            }
        }
    }
}

extension RowMerge where Row: Identifiable {
    /// Takes the row with the same id for the same row.
    static func byID() -> RowMerge {
        RowMerge { shown, rows in
            let known = Dictionary(shown.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            return rows.map { row in
                if let known = known[row.id], known == row { known } else { row }
            }
        }
    }
}
