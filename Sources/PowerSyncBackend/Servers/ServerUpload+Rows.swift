import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncUpload

// MARK: - Tables and rows

extension ServerUpload {
    /// Reads the tables that the request names.
    func readTables() async throws {
        let names = Set(context.request.entries.map { ExactText($0.table) }).map(\.text)
        try await readTables(names.filter { mayBeWritten($0) })
    }

    private func readTables(_ names: [String]) async throws {
        guard !names.isEmpty else { return }
        for name in names { tables[name] = .some(nil) }
        lastTable = nil
        for table in try await server.tables(named: names) { tables[table.name] = table }
    }

    /// Whether clients may write to a table with this name, if there is one.
    private func mayBeWritten(_ name: String) -> Bool {
        guard !name.utf8.contains(0), !name.hasPrefix("_ps_") else { return false }
        return context.options.tables.map { $0.contains { ExactText($0) == ExactText(name) } } ?? true
    }

    /// The table of a write.
    ///
    /// - Throws: ``WriteRefusal``; ``UntransactionalTable``; errors of the server.
    private func writableTable(named name: String) async throws -> WritableTable {
        // Writes of one table follow each other.
        if let lastTable, ExactText(lastTable.table.name) == ExactText(name) { return lastTable }
        guard mayBeWritten(name) else { throw WriteRefusal(unknownTable: name) }
        if tables[name] == nil { try await readTables([name]) }
        guard let table = tables[name] ?? nil else { throw WriteRefusal(unknownTable: name) }
        let writable = WritableTable(table: table, idColumn: try idColumn(of: table))
        lastTable = writable
        return writable
    }

    /// A table that a rule reads, whether clients write to it or not.
    private func readTable(named name: String) async throws -> ServerTable {
        if let lastTable, ExactText(lastTable.table.name) == ExactText(name) { return lastTable.table }
        if tables[name] == nil, !name.utf8.contains(0) { try await readTables([name]) }
        guard let table = tables[name] ?? nil else { throw unknownTable(name) }
        return table
    }

    private func unknownTable(_ name: String) -> UnknownTable {
        UnknownTable(table: name, idColumn: context.options.idColumn)
    }

    /// The column of the ids, if it is the primary key.
    private func keyColumn(of table: ServerTable) -> ServerColumn? {
        let name = context.options.idColumn
        guard table.key.count == 1, table.key.first.map({ ExactText($0) }) == ExactText(name) else { return nil }
        return table.column(name)
    }

    /// The column with the ids of a table that clients write to.
    ///
    /// - Throws: ``WriteRefusal``; ``UntransactionalTable``, which is no refusal: the table can be changed to another engine.
    private func idColumn(of table: ServerTable) throws -> ServerColumn {
        guard table.isTransactional else { throw UntransactionalTable(table: table.name) }
        let name = context.options.idColumn
        guard let column = keyColumn(of: table) else { throw WriteRefusal(keyOf: table.name, isNot: name) }
        guard column.identifiesRows, column.isWritable else {
            throw WriteRefusal(
                code: .unknownTable,
                message: """
                    Table “\(table.name)” cannot be written by clients: its column “\(name)” of type \(column.type) has no ids \
                    that clients make.
                    """
            )
        }
        return column
    }

    /// Checks that no two ids of the request may be the same for their table.
    ///
    /// - Throws: ``IndistinctIDs``.
    func checkDistinctIDs() throws {
        for (name, ids) in ids(of: context.request.entries[...]) {
            guard let table = tables[name.text] ?? nil, let column = try? idColumn(of: table) else { continue }
            guard column.isExact || IDSkeleton.areApart(ids) else { throw IndistinctIDs() }
        }
    }

    /// The ids of writes, by table.
    private func ids(of entries: ArraySlice<UploadEntry>) -> [ExactText: Set<ExactText>] {
        var ids: [ExactText: Set<ExactText>] = [:]
        for entry in entries { ids[ExactText(entry.table), default: []].insert(ExactText(entry.id)) }
        return ids
    }

    /// Looks whether the rows of the next 1,000 writes are there, and locks them, with one statement for each table.
    ///
    /// Their values are read when a rule asks for them. What was known of others is forgotten.
    ///
    /// - Parameter entry: The write that comes next.
    /// - Throws: Errors of the server.
    func lookAhead(to entry: UploadEntry) async throws {
        if let last = ahead.last, entry.operationID <= last.operationID { return }
        try await flush()
        rows = ServerRowCache()
        // Numbers ascend.
        let entries = context.request.entries
        let start = entries[ahead.endIndex...].firstIndex { $0.operationID >= entry.operationID } ?? entries.endIndex
        ahead = entries[start..<min(start + Self.chunk, entries.endIndex)]
        // In one order, so that two requests do not wait for each other.
        for (name, ids) in ids(of: ahead).sorted(by: { $0.key.text < $1.key.text }) {
            guard let table = tables[name.text] ?? nil, let column = try? idColumn(of: table) else { continue }
            let ids = ids.filter { column.stores($0.text) == true }
            if !ids.isEmpty { try await readRows(ids, of: table, column, withValues: false) }
        }
    }

    /// Reads rows into the cache.
    private func readRows(
        _ ids: Set<ExactText>,
        of table: ServerTable,
        _ column: ServerColumn,
        withValues: Bool
    ) async throws {
        let found = try await foundRows(ids.map(\.text).sorted(), of: table, column, withValues: withValues)
        var missing = ids
        var hasOthers = false
        for row in found {
            guard let id = row[column.name] else { continue }
            if missing.remove(ExactText(id)) != nil {
                rows.note(withValues ? .stored(row) : .there, id: id, in: table)
            } else {
                hasOthers = true
            }
        }
        for id in missing {
            // Each of the others is what the column takes for one of these.
            var isSpelledOtherwise = hasOthers
            if hasOthers, ids.count > 1 {
                isSpelledOtherwise = try await !foundRows([id.text], of: table, column, withValues: false).isEmpty
            }
            rows.note(isSpelledOtherwise ? .spelledOtherwise : .missing, id: id.text, in: table)
        }
        guard withValues, ids.count > 1, !found.isEmpty else { return }
        let average = found.reduce(0) { $0 + $1.byteCount } / found.count
        readLimit = max(1, min(Self.chunk, Self.readBytes / max(average, 1)))
    }

    /// Reads the values of a row that is there, and of those that the next writes are about: their rules will ask for them.
    private func readValues(of id: String, in table: ServerTable, _ column: ServerColumn) async throws {
        var ids: Set<ExactText> = [ExactText(id)]
        let isNext = ahead.lazy.filter { ExactText($0.table) == ExactText(table.name) }
            .drop { ExactText($0.id) != ExactText(id) }
        for entry in isNext {
            guard ids.count < readLimit else { break }
            if case .there = rows[table, entry.id] { ids.insert(ExactText(entry.id)) }
        }
        // Writes of a table where they have no effects on other rows are waiting for more of them.
        if pending?.writes(anyOf: ids, of: table) == true { try await flush() }
        rows.forgetValues()
        try await readRows(ids, of: table, column, withValues: true)
    }

    private func foundRows(
        _ ids: [String],
        of table: ServerTable,
        _ column: ServerColumn,
        withValues: Bool
    ) async throws -> [StoredRow] {
        do {
            return try await server.rows(of: table, ids: ids, in: column, withValues: withValues)
        } catch {
            note(error)
            throw error
        }
    }

    /// What the table has for an id that it stores as it is.
    func row(_ id: String, in table: ServerTable, _ column: ServerColumn) async throws -> ServerRowCache.Row {
        if let known = rows[table, id] { return known }
        try await flush()
        rows.forgetValues()
        try await readRows([ExactText(id)], of: table, column, withValues: true)
        return rows[table, id] ?? .missing
    }

    /// Checks an id, and reads whether there is a row with it.
    private func checkedRow(
        _ id: String,
        in table: ServerTable,
        _ column: ServerColumn
    ) async throws -> ServerRowCache.Row {
        guard try await stores(id, in: column) else {
            throw WriteRefusal(table: table.name, id: "would not store the id “\(id.shortened())” as it is")
        }
        return try await distinctRow(id, in: table, column)
    }

    /// What the table has for an id that it stores as it is.
    ///
    /// - Throws: ``WriteRefusal`` when that is a row with another spelling of the id; errors of the server.
    private func distinctRow(
        _ id: String,
        in table: ServerTable,
        _ column: ServerColumn
    ) async throws -> ServerRowCache.Row {
        let row = try await row(id, in: table, column)
        if case .spelledOtherwise = row {
            throw WriteRefusal(
                table: table.name,
                id: "has a row whose id is another spelling of “\(id.shortened())”, which the column takes for the same"
            )
        }
        return row
    }

    private func stores(_ text: String, in column: ServerColumn) async throws -> Bool {
        if let known = column.stores(text) { return known }
        try await flush()
        do {
            return try await server.stores(text, in: column)
        } catch {
            note(error)
            throw error
        }
    }

    /// Checks that a write names a table that can be written, and one row of it.
    ///
    /// - Returns: The table, and whether the row is there.
    func target(of entry: UploadEntry) async throws -> (table: WritableTable, isThere: Bool) {
        let target = try await writableTable(named: entry.table)
        return (target, try await checkedRow(entry.id, in: target.table, target.idColumn).isThere)
    }
}

// MARK: - Writing

extension ServerUpload {
    /// Writes a row, or notes it for the next statement.
    ///
    /// A row that is put is inserted, or gets the given columns; those that are not given stay. Nothing happens when a row is
    /// patched or deleted that is not there.
    func store(_ entry: UploadEntry, _ values: JsonParam, in target: WritableTable) async throws {
        let (table, idColumn) = (target.table, target.idColumn)
        let members =
            entry.op == .delete
            ? [] : JSONObject(values).members.filter { ExactText($0.name) != ExactText(idColumn.name) }
        let columns = try members.map { member in
            guard let column = table.column(member.name), column.isWritable else {
                throw WriteRefusal(unknownColumn: member.name, of: table.name)
            }
            return column
        }
        let texts = try zip(members, columns).map { try server.text(of: $0.value, for: $1, in: table.name) }
        // The decision may have stored it.
        let isThere = try await distinctRow(entry.id, in: table, idColumn).isThere
        let kind: WriteBatch.Kind
        switch entry.op {
        case .put where !isThere: kind = .insert
        case .put, .patch:
            guard isThere, !columns.isEmpty else { return }
            kind = .update
        case .delete:
            guard isThere else { return }
            kind = .delete
        }
        let row = WriteBatch.Row(id: entry.id, values: texts)
        if pending?.add(row, kind, table, columns) != true {
            try await flush()
            pending = WriteBatch(kind, table, idColumn, columns, row)
        }
        if isStepwise || table.hasSideEffects {
            try await flush()
            rows = ServerRowCache()
        } else {
            rows.note(kind == .delete ? .missing : .there, id: entry.id, in: table)
        }
    }

    /// Writes what was noted.
    func flush() async throws {
        guard let batch = pending else { return }
        pending = nil
        do {
            try await write(batch)
        } catch {
            note(error)
            throw error
        }
    }

    private func write(_ batch: WriteBatch) async throws {
        do {
            try await server.write(batch)
        } catch {
            switch context.fault(of: error, server) {
            case .rejected(let refusal): throw refusal
            case .values(let message): throw Self.refusal(of: batch, message)
            case .duplicate(let message):
                let refusal = Self.refusal(of: batch, message)
                guard batch.kind == .insert, let row = batch.rows.first else { throw refusal }
                throw DuplicateRow(refusal: refusal, id: row.id, table: batch.table, idColumn: batch.idColumn)
            case .concurrency, .other: throw error
            }
        }
    }

    private static func refusal(of batch: WriteBatch, _ message: String) -> WriteRefusal {
        WriteRefusal(code: .constraint, message: "Table “\(batch.table.name)” refuses the row: \(message).")
    }
}

// MARK: - Rows for rules

extension ServerUpload: ServerRows {
    func storedRow(_ id: String, in table: String) async throws -> StoredRow? {
        let table = try await readTable(named: table)
        guard let column = keyColumn(of: table), column.identifiesRows else { throw unknownTable(table.name) }
        // An id that the table cannot have is the id of no row.
        guard try await stores(id, in: column) else { return nil }
        switch rows[table, id] {
        case .stored(let row): return row
        case .there: try await readValues(of: id, in: table, column)
        case .missing, .spelledOtherwise, nil: break
        }
        switch try await distinctRow(id, in: table, column) {
        case .stored(let row): return row
        case .there, .missing, .spelledOtherwise: return nil
        }
    }

    func stores(_ text: String, in column: String, of table: String) async throws -> Bool {
        guard let found = try await readTable(named: table).column(column) else {
            throw UnknownColumn(column: column, table: table)
        }
        return try await stores(text, in: found)
    }
}
