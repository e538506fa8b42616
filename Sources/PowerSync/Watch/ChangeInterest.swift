import GRDB

/// What a ``ChangeListener`` wants to hear of.
enum ChangeInterest: Sendable, Equatable {
    /// What a query reads. Views need no treatment of their own: a region names the tables behind them, and their
    /// triggers write to those.
    case region(DatabaseRegion)
    /// Tables by their names in SQLite, in lower case.
    case tables(Set<String>)

    /// Whether a change of this kind is of interest.
    func isAffected(by kind: DatabaseEventKind) -> Bool {
        switch self {
        case .region(let region): region.isModified(byEventsOfKind: kind)
        case .tables(let names): names.contains(kind.tableName.lowercased())
        }
    }
}

/// Which interests of a listener have changed.
struct InterestingChanges: Sendable, Equatable {
    /// Whether any of them may have.
    var mayBeAll = false
    /// The positions of those that have, among the listener's interests.
    var positions: Set<Int> = []

    var isEmpty: Bool { !mayBeAll && positions.isEmpty }

    /// Adds the interest at a position; `nil` means all of them.
    mutating func insert(_ position: Int?) {
        if let position { positions.insert(position) } else { mayBeAll = true }
    }

    mutating func formUnion(_ other: InterestingChanges) {
        mayBeAll = mayBeAll || other.mayBeAll
        positions.formUnion(other.positions)
    }

    static let all = InterestingChanges(mayBeAll: true)
}
