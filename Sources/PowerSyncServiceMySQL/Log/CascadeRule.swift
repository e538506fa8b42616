import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What a changed row of a table does to rows of others by a rule of a foreign key, which the log does not tell of.
struct CascadeRule: Sendable, Hashable {
    /// Where the referenced columns are in the table that is referred to; `nil` when that is not known.
    var columns: [Int]?
    /// Whether a deleted row changes others.
    var followsDeletes: Bool
    /// Whether other values of the referenced columns do.
    var followsUpdates: Bool
    /// The followed tables whose rows may be changed, also on the way over others.
    var descendants: Set<Int>
    /// How the rows are found; `nil` when ``descendants`` have to be copied.
    var search: Search?

    /// How the rows of all descendants are found (``Cascade``).
    struct Search: Sendable, Hashable {
        /// The columns of the foreign key.
        var columns: [String]
        /// The table with the foreign key.
        var place: Int
        /// The foreign keys by which rows of others change with them.
        var references: [Reference]
        /// Whether rows are found whose referenced row has other values: not when these are in their own identity, which is then another.
        var findsUpdated: Bool
    }

    /// A foreign key to a descendant.
    struct Reference: Sendable, Hashable {
        /// The table with the foreign key.
        var place: Int
        /// Its columns.
        var columns: [String]
        /// The table that it refers to.
        var parent: Int
        /// Where the values are in the identity of that table.
        var keyPlaces: [Int]
    }

    /// Finds what rows of each table do.
    ///
    /// - Parameters:
    ///   - keys: Foreign keys with rules.
    ///   - tables: The followed tables.
    ///   - places: Where they are, by their folded names.
    ///   - context: How names are compared, and the tables that are referred to and not followed.
    /// - Returns: The rules by the folded names of the tables that are referred to.
    static func all(
        _ keys: [MySQLForeignKey],
        tables: [FollowedTable],
        places: [SourceTableName: Int],
        context: ChangeAssembly.Context
    ) -> [SourceTableName: [CascadeRule]] {
        let byParent = Dictionary(grouping: keys) { context.folded($0.parent) }
        return byParent.mapValues { keys in
            keys.compactMap { key in
                var reached: Set<SourceTableName> = []
                var further: [MySQLForeignKey] = []
                var next = [context.folded(key.child)]
                while let table = next.popLast() {
                    guard reached.insert(table).inserted else { continue }
                    further += byParent[table, default: []]
                    next += byParent[table, default: []].map { context.folded($0.child) }
                }
                let descendants = Set(reached.compactMap { places[$0] })
                guard !descendants.isEmpty else { return nil }
                let parent = context.folded(key.parent)
                let table =
                    places[parent].map { tables[$0].table }
                    ?? context.ancestors.first { context.folded($0.name) == parent }
                return CascadeRule(
                    columns: table.flatMap { Self.places(of: key.parentColumns, in: $0) },
                    followsDeletes: key.followsDeletes,
                    followsUpdates: key.followsUpdates,
                    descendants: descendants,
                    search: descendants.count == reached.count
                        ? Search(key, further, tables) { places[context.folded($0)] } : nil
                )
            }
        }
    }

    private static func places(of names: [String], in table: MySQLTable) -> [Int]? {
        let found = names.compactMap { name in table.columns.firstIndex { $0.isNamed(name) } }
        return found.count == names.count ? found : nil
    }

    /// Whether the change of a row changes others.
    func isConcerned(by row: RowChange) -> Bool {
        guard let before = row.before ?? nil else { return false }
        guard let after = row.after ?? nil else { return followsDeletes }
        guard followsUpdates else { return false }
        guard let columns else { return true }
        return columns.contains { column in
            // What is not in the row after the change was not changed; what is in none of both may have been.
            guard let old = before[column] else { return true }
            return after[column].map { $0 != old } ?? false
        }
    }

    /// What the rows have in ``Search/columns`` that refer to a row as it was; `nil` when they cannot be found by it.
    func values(of row: RowChange, _ form: MySQLValueForm) -> [SQLValue]? {
        guard let search, search.findsUpdated || (row.after ?? nil) == nil, let columns, let before = row.before ?? nil
        else {
            return nil
        }
        var values: [SQLValue] = []
        for column in columns {
            guard let value = before[column].flatMap({ form.value(of: $0) }) else { return nil }
            if case .text(let text) = value, text.utf8.contains(where: { $0 >= 0x80 }) { return nil }
            values.append(value)
        }
        return values
    }
}

extension CascadeRule.Search {
    /// Finds out how rows are found that refer to a row, and those that refer to them; `nil` when the rows of one foreign key are not.
    ///
    /// - Parameters:
    ///   - key: The foreign key to the row.
    ///   - further: The foreign keys on the way from there.
    ///   - tables: The followed tables.
    ///   - placeOf: Where a table is among them.
    init?(
        _ key: MySQLForeignKey,
        _ further: [MySQLForeignKey],
        _ tables: [FollowedTable],
        placeOf: (SourceTableName) -> Int?
    ) {
        guard let place = placeOf(key.child), let columns = tables[place].table.reference(of: key) else { return nil }
        var references: [CascadeRule.Reference] = []
        for key in further {
            guard let child = placeOf(key.child), let parent = placeOf(key.parent),
                let columns = tables[child].table.reference(of: key)
            else { return nil }
            // Of rows that are gone, the identity is known.
            let identity = tables[parent].table.identity
            let keyPlaces = key.parentColumns.compactMap { name in identity.firstIndex { $0.isNamed(name) } }
            guard keyPlaces.count == key.parentColumns.count else { return nil }
            references.append(.init(place: child, columns: columns, parent: parent, keyPlaces: keyPlaces))
        }
        self.init(
            columns: columns,
            place: place,
            references: references,
            findsUpdated: !tables[place].table.identity.contains { columns.contains($0.name) }
        )
    }
}

extension ChangeAssembly {
    /// The rules that rows of an event may set off.
    func rules(for event: RowsEvent, of map: TableMap) -> [CascadeRule] {
        guard !rules.isEmpty, event.kind != .insert else { return [] }
        let name = context.folded(SourceTableName(schema: map.schema, name: map.table))
        return rules[name, default: []].filter { event.kind == .delete ? $0.followsDeletes : $0.followsUpdates }
    }

    /// Has the tables copied again whose rows may be others.
    mutating func cascade(_ rule: CascadeRule) {
        for place in rule.descendants where !isCopied(place) { copyAgainWithGroup(place, .cascade) }
    }

    /// How the rows of an event's rules are found; `nil` when the tables have to be copied again.
    ///
    /// Rows of tables whose copy has seen the group are right. What refers to such rows is not found by them, as those that are gone are
    /// not there any more.
    func search(for rule: CascadeRule) -> CascadeRule.Search? {
        guard group?.isPrepared == false, var search = rule.search else { return nil }
        let wanted = Set(rule.descendants.filter { !isCopied($0) })
        guard wanted.contains(search.place) || wanted.isEmpty,
            search.references.allSatisfy({ !wanted.contains($0.place) || wanted.contains($0.parent) })
        else { return nil }
        search.references.removeAll { !wanted.contains($0.place) }
        return search
    }
}
