import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What statements of the log do.
extension ChangeAssembly {
    mutating func add(_ query: QueryEvent, _ event: BinlogEvent) {
        switch query.text {
        // Of most groups, without a look at words.
        case "BEGIN": group?.hasBegun = true
        case "COMMIT": endGroup(event)
        default: add(StatementMeaning(query.text.utf8), query, event)
        }
    }

    private mutating func add(_ meaning: StatementMeaning, _ query: QueryEvent, _ event: BinlogEvent) {
        switch meaning {
        case .begin: group?.hasBegun = true
        case .beginPrepared:
            group?.hasBegun = true
            group?.isPrepared = true
        case .commit: endGroup(event)
        case .rollback:
            // What was delivered of it cannot be taken back, and tables without transactions keep what it did to them.
            for place in group?.touched ?? [] { copyAgain(place, .undone) }
            endGroup(event)
        case .savepoint(let name): group?.savepoints.begin(name)
        case .rollbackTo(let name): undo(to: name)
        case .commitPrepared(let name): commitPrepared(name, event)
        case .rollBackPrepared(let name):
            if let name { _ = prepared.end(name, at: end(of: event)) }
            endGroup(event)
        case .nothing: endStandalone(event)
        case .truncate(let table):
            truncate(table, query)
            endStandalone(event)
        case .tables(let statement):
            if group?.isAlterStart != true { lookAfter(statement, query) }
            endStandalone(event)
        case .rows(let statement):
            changeRows(statement)
            endStandalone(event)
        }
    }

    /// Ends a group that has no other end.
    private mutating func endStandalone(_ event: BinlogEvent) {
        if group?.hasBegun == false { endGroup(event) }
    }

    // MARK: Undoing

    /// Delivers the rows again that were changed after a savepoint.
    private mutating func undo(to name: String) {
        guard let rows = group?.savepoints.undo(to: name) else {
            for place in group?.touched ?? [] { copyAgain(place, .undone) }
            return
        }
        appendKeys(rows, .undone)
    }

    // MARK: Prepared transactions

    mutating func endPreparedGroup(_ prepare: XAPrepareEvent, _ event: BinlogEvent) {
        let held = group?.held ?? ChangedRows()
        if prepare.isOnePhase {
            group?.isPrepared = false
            appendKeys(held, .prepared)
        } else {
            prepared.add(
                TransactionName(format: prepare.formatID, global: prepare.globalID, branch: prepare.branch),
                held,
                at: end(of: event)
            )
        }
        endGroup(event)
    }

    private mutating func commitPrepared(_ name: TransactionName?, _ event: BinlogEvent) {
        if let rows = name.flatMap({ prepared.end($0, at: end(of: event)) }) {
            appendKeys(rows, .prepared)
        } else {
            for place in tables.indices where !isCopied(place) { copyAgain(place, .prepared) }
        }
        endGroup(event)
    }

    // MARK: Tables

    /// The followed tables that a statement may mean, but for those that were copied after it.
    private func named(_ names: Set<StatementTable>, inSchema schema: String?, isAny: Bool) -> [Int] {
        let folded = Set(
            names.map { context.folded(SourceTableName(schema: $0.schema ?? schema ?? "", name: $0.name)) }
        )
        let bare = Set(folded.map(\.name))
        return tables.indices.filter { place in
            let name = context.folded(tables[place].table.name)
            let isNamed = isAny || (schema == nil ? bare.contains(name.name) : folded.contains(name))
            return isNamed && !isCopied(place)
        }
    }

    private mutating func truncate(_ table: StatementTable, _ query: QueryEvent) {
        for place in named([table], inSchema: query.schema, isAny: false) { appendTruncation(of: place) }
        let name = context.folded(SourceTableName(schema: table.schema ?? query.schema, name: table.name))
        if places[name] != nil || context.reads(name) { look = .truncation }
    }

    private mutating func changeRows(_ statement: RowStatement) {
        // A view or a routine may stand between: the schema does not count.
        let named = named(statement.names, inSchema: nil, isAny: statement.changesAnything)
        let isNamed = statement.names.contains { name in
            tables.contains {
                context.folded($0.table.name).name == context.folded(SourceTableName(schema: "", name: name.name)).name
            }
        }
        let places = isNamed || statement.changesAnything ? named : tables.indices.filter { !isCopied($0) }
        for place in places { copyAgainWithGroup(place, .statement) }
    }

    private mutating func lookAfter(_ statement: TableStatement, _ query: QueryEvent) {
        guard let start = group?.start else { return }
        let concerns =
            statement.hasUnreadableName || !context.comparesExactly
            || statement.names.contains { name in
                let name = SourceTableName(schema: name.schema ?? query.schema, name: name.name)
                return places[name] != nil || context.reads(name)
                    || tables.contains { $0.table.name.schema == name.name }
            }
        guard concerns else { return }
        noticed = []
        look = .statement(statement, schema: query.schema, start: start)
    }

    /// Takes what the catalogue has after a statement, when all tables that are followed are still what they were.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - schema: The schema of its session.
    ///   - start: Where its group begins.
    ///   - found: The tables, as the catalogue describes them.
    mutating func settle(
        _ statement: TableStatement,
        schema: String,
        start: LogPosition,
        found: [SourceTableDescriptor: MySQLTable]
    ) {
        let folded = Set(
            statement.names.map { context.folded(SourceTableName(schema: $0.schema ?? schema, name: $0.name)) }
        )
        for place in tables.indices {
            let followed = tables[place]
            let isNamed = statement.hasUnreadableName || folded.contains(context.folded(followed.table.name))
            if let copied = followed.copied, (start.file, start.offset) < (copied.file, copied.offset) { continue }
            guard isNamed, let table = found[followed.descriptor] else { continue }
            if !context.copiesAfterAlter, statement.copying != .always, changesValues(of: followed, statement) {
                keptRows.append(KeptRows(followed.table.name, statement))
            }
            if mayHaveOtherRows(followed, after: statement) {
                copyAgain(place, .alteration)
            } else if table.columns != followed.table.columns {
                tables[place].table = table
                tables[place].hasNamelessRows = false
                tables[place].isOfStatement = true
                forgetRelation(of: place)
            } else if followed.movedAt == start, !followed.hasNamelessRows {
                tables[place].movedAt = nil
                tables[place].isOfStatement = true
            } else if followed.movedAt == start
                || statement.movesColumns && (followed.hasNamelessRows || !followed.isOfStatement)
            {
                // A later statement has undone this one, and what is between would be read by the wrong columns, or was.
                copyAgain(place, .alteration)
            }
        }
    }

    /// The tables whose columns are in other places after a statement, and have the values that they had.
    ///
    /// - Parameters: As of ``settle(_:schema:start:found:)``.
    /// - Returns: The tables as they are.
    func moves(
        by statement: TableStatement,
        schema: String,
        start: LogPosition,
        found: [SourceTableDescriptor: MySQLTable]
    ) -> [SourceTableDescriptor: ColumnMove] {
        let folded = Set(
            statement.names.map { context.folded(SourceTableName(schema: $0.schema ?? schema, name: $0.name)) }
        )
        var moves: [SourceTableDescriptor: ColumnMove] = [:]
        for followed in tables where folded.contains(context.folded(followed.table.name)) {
            if let copied = followed.copied, (start.file, start.offset) < (copied.file, copied.offset) { continue }
            guard !mayHaveOtherRows(followed, after: statement),
                let table = found.keys.first(where: { $0.hasMovedColumns(since: followed.descriptor) })
            else { continue }
            moves[table] = ColumnMove(earlier: followed.descriptor, boundary: passed, position: start)
        }
        return moves
    }

    /// Whether rows of a table may be others after a statement, although the catalogue has what it had: it shows the present.
    private func mayHaveOtherRows(_ followed: FollowedTable, after statement: TableStatement) -> Bool {
        if statement.copying == .always { return true }
        guard context.copiesAfterAlter else { return false }
        if reads(statement.columns, of: followed) { return true }
        return !followed.isToldByIncarnation && changesValues(of: followed, statement)
    }

    /// Whether a statement may change values that are read of a table.
    private func changesValues(of followed: FollowedTable, _ statement: TableStatement) -> Bool {
        if reads(statement.columns, of: followed) { return true }
        guard statement.copying == .unlessToldByIncarnation else { return false }
        return statement.modifiedColumns.isEmpty || reads(statement.modifiedColumns, of: followed)
    }

    private func reads(_ columns: Set<String>, of followed: FollowedTable) -> Bool {
        guard let read = followed.rows.readColumns else { return !columns.isEmpty }
        let identity = followed.table.identity.map { $0.name.lowercased() }
        return !columns.isDisjoint(with: Set(read.map { $0.lowercased() }).union(identity))
    }

    /// The tables whose rows keep what they had before a statement, each once.
    mutating func takeKeptRows() -> [KeptRows] {
        defer { keptRows = [] }
        return keptRows
    }
}

/// That rows of a table keep what they had before a statement: `copy_after_alter` is `false`.
struct KeptRows: Sendable, Hashable {
    /// The table.
    var table: SourceTableName
    /// The columns that the statement names, in lower case and in the order of their names; none for a statement about all.
    var columns: [String]

    init(_ table: SourceTableName, _ statement: TableStatement) {
        self.table = table
        columns = statement.columns.union(statement.modifiedColumns).sorted()
    }
}
