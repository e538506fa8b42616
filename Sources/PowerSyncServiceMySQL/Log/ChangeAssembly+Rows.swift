import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What rows of the log become.
extension ChangeAssembly {
    /// A table that the log has announced.
    enum Relation {
        /// No stream wants its changes.
        case ignored
        /// Its rows are read in this way; those of a table that is not followed only for the rules that depend on them.
        case known(place: Int?, MySQLBinlog.RowLayout)
        /// Its rows have other columns than the table has in the catalogue.
        case misfit(place: Int?)
    }

    mutating func add(_ event: RowsEvent) throws {
        guard let map = event.map else { return }
        let rules = event.hasCascades ? [] : rules(for: event, of: map)
        if group?.isPrepared == true {
            let name = context.folded(SourceTableName(schema: map.schema, name: map.table))
            if places[name] == nil, context.reads(name) { group?.held.unfollowed.insert(name) }
        }
        switch relation(of: map) {
        case .ignored: for rule in rules { cascade(rule) }
        case .misfit(let place):
            for rule in rules { cascade(rule) }
            if let place, !isCopied(place) { copyAgainWithGroup(place, .layout) }
        case .known(let place, let layout):
            let isWanted = place.map { !isCopied($0) } ?? false
            guard isWanted || !rules.isEmpty else { return }
            if isWanted, let place, map.columns.contains(where: { $0.name == nil }) {
                tables[place].hasNamelessRows = true
            }
            if isWanted, let place, tables[place].rows.hasKeysOfServer {
                unconverted = try cellsOfServer(event, layout, of: place)
                guard unconverted.isEmpty else { return }
            }
            let searches = rules.map { search(for: $0) }
            var found: [[[SQLValue]]] = rules.map { _ in [] }
            var reader = try event.rows(layout)
            while let row = try reader.next() {
                if isWanted, let place { add(row, of: place) }
                for (index, rule) in rules.enumerated() where rule.isConcerned(by: row) {
                    guard searches[index] != nil, let values = rule.values(of: row, context.form) else {
                        cascade(rule)
                        continue
                    }
                    found[index].append(values)
                }
            }
            for (search, values) in zip(searches, found) {
                if let search, !values.isEmpty { append(search, values) }
            }
        }
    }

    /// The values of keys that the server has yet to convert.
    private func cellsOfServer(
        _ event: RowsEvent,
        _ layout: MySQLBinlog.RowLayout,
        of place: Int
    ) throws -> Set<DeferredCell> {
        var found: Set<DeferredCell> = []
        var reader = try event.rows(layout)
        while let row = try reader.next() {
            for cells in [row.before ?? nil, row.after ?? nil].compactMap(\.self) {
                found.formUnion(tables[place].rows.cellsOfServer(cells))
            }
        }
        return found.filter { conversions.cell(.deferred($0)) == nil && !unconvertible.contains($0) }
    }

    private mutating func relation(of map: TableMap) -> Relation {
        if let known = relations[map.id], known.map === map { return known.relation }
        let relation = announced(map)
        relations[map.id] = (map, relation)
        return relation
    }

    private mutating func announced(_ map: TableMap) -> Relation {
        let name = context.folded(SourceTableName(schema: map.schema, name: map.table))
        let charset = { [context] (collation: UInt32) in context.charsets[collation] }
        guard let place = places[name] else {
            if context.reads(name), noticed.insert(name).inserted { look = look ?? .unknownTable }
            guard let ancestor = context.ancestors.first(where: { context.folded($0.name) == name }) else {
                return .ignored
            }
            let columns = ancestor.columns.map { column in
                ColumnDescription(
                    name: column.name,
                    type: column.type,
                    charset: column.characterSet.map { MySQLCharset(name: $0) }
                )
            }
            guard let layout = try? MySQLBinlog.RowLayout(map, columns, charset: charset) else {
                return .misfit(place: nil)
            }
            return .known(place: nil, layout)
        }
        let descriptions = tables[place].rows.descriptions
        guard let layout = try? MySQLBinlog.RowLayout(map, descriptions, charset: charset) else {
            return .misfit(place: place)
        }
        return .known(place: place, layout)
    }

    /// Forgets what was known of a table that was announced: its columns are others.
    mutating func forgetRelation(of place: Int) {
        relations = relations.filter { _, known in
            switch known.relation {
            case .known(let other?, _), .misfit(let other?): other != place
            default: true
            }
        }
    }

    private mutating func add(_ row: RowChange, of place: Int) {
        let rows = tables[place].rows
        let before = (row.before ?? nil).map { converted($0, rows) }
        let after = (row.after ?? nil).map { converted($0, rows) }.map { after in
            // What is not in the row after the change was not changed.
            before.map { before in after.indices.map { after[$0] ?? before[$0] } } ?? after
        }
        let oldKey = before.flatMap(rows.key)
        let newKey = after.flatMap(rows.key)
        // A row before whose key is not in the log may have had another key than the row after.
        guard before == nil || oldKey != nil, after == nil || newKey != nil else {
            copyAgainWithGroup(place, .incompleteRow)
            return
        }
        remember(oldKey, newKey, of: place)
        if group?.isPrepared == true { return }
        // Of a table without a key, an equal row may be left.
        let isAnyOfEqualRows = tables[place].table.key == .none
        if let oldKey, isAnyOfEqualRows, oldKey != newKey {
            append(rows.row(key: oldKey, of: tables[place].descriptor), of: place)
        }
        guard let after else {
            if let oldKey, !isAnyOfEqualRows { append(.delete(key: oldKey), of: place) }
            return
        }
        let otherKey = isAnyOfEqualRows || oldKey == newKey ? nil : oldKey
        if let complete = rows.row(after) {
            append(.update(complete, oldKey: otherKey), of: place)
        } else if let partial = rows.partialRow(after) {
            append(partial, oldKey: otherKey, of: place)
        }
    }

    private func converted(_ cells: [MySQLCell?], _ rows: LoggedRows) -> [MySQLCell?] {
        rows.hasKeysOfServer ? rows.converted(cells, by: conversions) : cells
    }

    /// Remembers a row of a group that is prepared, or can be undone.
    private mutating func remember(_ oldKey: [SQLValue]?, _ newKey: [SQLValue]?, of place: Int) {
        let isPrepared = group?.isPrepared == true
        guard isPrepared || group?.savepoints.isEmpty == false else { return }
        let table = tables[place].descriptor
        for key in [oldKey, newKey == oldKey ? nil : newKey].compactMap(\.self) {
            if isPrepared { group?.held.add(key, of: table) } else { group?.savepoints.add(key, of: table) }
        }
    }
}
