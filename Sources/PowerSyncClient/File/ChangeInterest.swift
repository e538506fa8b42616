import GRDB

/// What a ``ChangeListener`` wants to hear of.
///
/// Names of tables are in lower case. `virtualTables` are those among what is read, with their shadow tables: see
/// ``VirtualTables``. Each change of one of them is of interest, whatever its columns.
enum ChangeInterest: Sendable, Equatable {
    /// What a query reads. Views need no treatment of their own: a region names the tables behind them, and their
    /// triggers write to those.
    case region(DatabaseRegion, virtualTables: Set<String> = [])
    /// Tables by their names in SQLite.
    case tables(Set<String>, virtualTables: Set<String> = [])

    /// Whether a change of this kind is of interest.
    func isAffected(by kind: DatabaseEventKind) -> Bool {
        if isOfVirtualTable(kind) { return true }
        return switch self {
        case .region(let region, _): region.isModified(byEventsOfKind: kind)
        case .tables(let names, _): names.contains(kind.tableName.lowercased())
        }
    }

    /// Whether a change of this kind is one of a virtual table, whose rows SQLite may report late or never.
    func isOfVirtualTable(_ kind: DatabaseEventKind) -> Bool {
        switch self {
        case .region(_, let names), .tables(_, let names): !names.isEmpty && names.contains(kind.tableName.lowercased())
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
