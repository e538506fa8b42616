import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// Writes synced rows to the tables behind the views, and to raw tables (docs/client-sync.md "Publishing rows").
///
/// The destination of a row follows from its type:
///
/// | Destination | When | Row |
/// | --- | --- | --- |
/// | `ps_data__<type>` | the table exists | `(id, data)` |
/// | a raw table | otherwise, if the schema has one of this name | what its statements make of id and data |
/// | a direct table | otherwise, if the file has one of this name | the values of its columns |
/// | `ps_untyped` | otherwise | `(type, id, data)` |
///
/// Rows arrive ordered by type, so that the statements of the last type are kept at hand.
///
/// SQLite checks constraints of the app row by row, and refuses rows that it would take in another order. So refused rows are
/// tried again after the others, and then all at once, see ``RowPublisher/exchange(_:)``. Those that are still refused are set
/// aside: they stay as they are, or are deleted where they stand in the way of others, and the rest is published.
struct RowPublisher {
    /// How it ended.
    struct Outcome {
        /// The rows that could only be published without values.
        var unreadable = UnreadableRows()
        /// The rows that constraints refuse, for the next complete checkpoint to look at again.
        var setAside = SetAsideRows()
    }

    let rows: ChangedRows
    let rawTables: [ClientRawTable]
    let db: Database
    private(set) var kept: KeptRows
    private var current: (type: [UInt8], destination: RowDestination)?
    private var written = WrittenTables.none
    private var unreadable = UnreadableRows()
    private var refused = RefusedRows()
    /// The statements of ``RowTable/surrenders(_:)`` by type, as far as they were needed.
    private var surrenders: [[UInt8]: [String]] = [:]
    /// Those of them that have run.
    private var surrendered: Set<String> = []
    /// Whether all foreign keys must be deferred before anything is written: one has refused a row that it may take at the end of
    /// the transaction, or must be deferred while another one is violated.
    private var mustDeferForeignKeys = false
    /// What foreign key actions change; `nil` when there are none.
    private var dependents: DependentRows?
    /// The table whose rows take others with them when they are deleted, if the rows of the current type are in one.
    private var currentParent: RowTable?
    /// The rows that are not written, for the sake of foreign keys.
    var exceptions: [RowKey: ForeignKeyException] = [:]

    /// Publishes rows and announces the changed tables to GRDB's observers.
    ///
    /// The flag of ``Publishing`` is set meanwhile, so that nothing of it becomes a local write.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - rows: The rows.
    ///   - kept: Those among them that keep their local state.
    ///   - rawTables: Where rows go whose types have no table of ours.
    ///   - schema: What is known of the file's tables, which is right.
    /// - Returns: What became of rows that could not be published as they are.
    /// - Throws: GRDB's `DatabaseError`, and ``RawTableError`` for a statement of the application.
    static func publish(
        _ db: Database,
        _ rows: ChangedRows,
        except kept: inout KeptRows,
        rawTables: [ClientRawTable],
        schema: inout KnownSchema
    ) throws -> Outcome {
        try Publishing.whilePublishing(db) {
            var publisher = RowPublisher(rows: rows, kept: kept, rawTables: rawTables, db: db)
            try publisher.publish(&schema)
            kept = publisher.kept
            // GRDB does not see statements that are stepped by hand.
            try publisher.written.announce(db, schema: &schema)
            return Outcome(unreadable: publisher.unreadable, setAside: publisher.setAside)
        }
    }

    private init(rows: ChangedRows, kept: KeptRows, rawTables: [ClientRawTable], db: Database) {
        self.rows = rows
        self.kept = kept
        self.rawTables = rawTables
        self.db = db
    }

    /// Publishes all rows, again and again until no foreign key is violated.
    private mutating func publish(_ schema: inout KnownSchema) throws {
        let foreignKeys = try schema.enforcedForeignKeys(db)
        guard !foreignKeys.isEmpty else { return try writeAll(&schema) }
        if foreignKeys.contains(where: \.actsOnDelete) {
            dependents = DependentRows(db, foreignKeys, types: try typesByTable(&schema))
        }
        if schema.mustDeferForeignKeys { try deferForeignKeys() }
        let savepoint = try Savepoint(db, "powersync_publication")
        try writeAll(&schema)
        if !schema.mustDeferForeignKeys, mustDeferForeignKeys || hasViolatedForeignKeys {
            schema.mustDeferForeignKeys = true
            // Not before all rows are read: SQLite aborts statements at work when such a setting changes.
            try deferForeignKeys()
            try writeAgain(savepoint, &schema)
        }
        while hasViolatedForeignKeys {
            try addExceptions(foreignKeys, savepoint, &schema)
            try writeAgain(savepoint, &schema)
        }
        try reconsiderExceptions(&schema)
        try savepoint.end()
    }

    private mutating func writeAgain(_ savepoint: Savepoint, _ schema: inout KnownSchema) throws {
        try savepoint.undo()
        (unreadable, refused) = (UnreadableRows(), RefusedRows())
        try writeAll(&schema)
    }

    /// Writes the rows that were left out for the sake of foreign keys, but that the others leave room for.
    ///
    /// Where several rows violated foreign keys at once, one of them may have done so only for the sake of another one.
    private mutating func reconsiderExceptions(_ schema: inout KnownSchema) throws {
        let rows = exceptions.keys.sorted { ($0.typeName, $0.idText) < ($1.typeName, $1.idText) }
        for row in rows.prefix(Self.reconsideredExceptions) {
            let (exceptions, refused) = (self.exceptions, self.refused)
            let savepoint = try Savepoint(db, "powersync_exception")
            self.exceptions[row] = nil
            let isWritten = try evaluate(row, &schema)
            try settle(&schema)
            if !isWritten || hasViolatedForeignKeys || self.refused.count > refused.count {
                try savepoint.undo()
                (self.exceptions, self.refused) = (exceptions, refused)
            }
            try savepoint.end()
        }
        noteWritten()
    }

    /// How many rows are written once more; the next complete checkpoint tries the others.
    private static let reconsideredExceptions = 1_000

    /// Has SQLite check all foreign keys at the end of the transaction, also those that are not declared so.
    ///
    /// Only while none is violated, or when that is undone next. From here on SQLite counts violations elsewhere, and takes nothing
    /// back where it has counted before: it would report violations that are resolved, or even refuse to commit for them.
    private func deferForeignKeys() throws {
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
    }

    private mutating func writeAll(_ schema: inout KnownSchema) throws {
        for (row, exception) in exceptions where exception.isDeleted {
            try write(row, data: nil, &schema)
        }
        try rows.forEach(db) { row in
            try unsafe publish(type: row.type, id: row.id, data: row.data, mayBeOutdated: row.mayBeOutdated, &schema)
        }
        if mustDeferForeignKeys, !schema.mustDeferForeignKeys { return noteWritten() }
        try settle(&schema)
        noteWritten()
    }

    /// Writes the refused rows that the others leave room for, and the rows that went with others.
    private mutating func settle(_ schema: inout KnownSchema) throws {
        try settleRefused(&schema)
        for _ in 0..<Self.depthOfDependents {
            guard let rows = dependents?.take(), !rows.isEmpty else { return }
            for row in rows { try evaluate(row, &schema) }
            try settleRefused(&schema)
        }
    }

    /// How often rows that were evaluated once more may take others with them.
    private static let depthOfDependents = 64

    private mutating func settleRefused(_ schema: inout KnownSchema) throws {
        guard !refused.isEmpty else { return }
        try retry(beforeExchange: true, &schema)
        try exchange(&schema)
    }

    /// Writes a row with its newest data.
    ///
    /// - Returns: Whether there is any.
    @discardableResult
    private mutating func evaluate(_ row: RowKey, _ schema: inout KnownSchema) throws -> Bool {
        let find = try PreparedStatement(db, sql: ChangedRows.publishedData)
        defer { find.reset() }
        try find.bind(checkedText: row.type, at: 1)
        try find.bind(checkedText: row.id, at: 2)
        if let covered = rows.covered {
            try find.bind(checkedText: "[\(covered.map(String.init).joined(separator: ","))]", at: 3)
        }
        guard try find.step(), let data = unsafe find.text(at: 0) else { return false }
        try unsafe row.type.withUnsafeBytes { type in
            try unsafe row.id.withUnsafeBytes { try unsafe publish(type: type, id: $0, data: data, &schema) }
        }
        return true
    }

    /// Publishes a row, unless it keeps its state.
    private mutating func publish(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?,
        mayBeOutdated: Bool = false,
        _ schema: inout KnownSchema
    ) throws {
        guard unsafe !kept.keeps(type: type, id: id), unsafe !isException(type: type, id: id) else { return }
        let destination = try unsafe destination(for: type, &schema)
        if mayBeOutdated, try unsafe destination.mayShow(type: type, id: id) { return }
        if let data = unsafe data, try unsafe putTyped(type: type, id: id, data: data, to: destination) { return }
        if let data = unsafe data, unsafe !StoredRow.isJSON(data) {
            try unsafe writeReadable(type: type, id: id, data: data, to: destination)
        } else {
            try unsafe write(type: type, id: id, data: data, to: destination)
        }
    }

    private func isException(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        unsafe !exceptions.isEmpty && exceptions[RowKey(type: Array(type), id: Array(id))] != nil
    }

    private var setAside: SetAsideRows {
        var rows = SetAsideRows()
        for row in refused.rows { rows.add(row.key, row.refusal.reason) }
        for (row, refusal) in refused.others { rows.add(row, refusal.reason) }
        for (row, exception) in exceptions { rows.add(row, exception.refusal.reason) }
        return rows
    }
}

// MARK: - Writing

extension RowPublisher {
    /// Writes a row whose data is not quite JSON.
    private mutating func writeReadable(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        to destination: RowDestination
    ) throws {
        switch try unsafe StoredRow.readable(db, data, for: destination.reader) {
        case .asIs:
            try unsafe write(type: type, id: id, data: data, to: destination)
        case .repaired(let bytes):
            try unsafe bytes.withUnsafeBytes { try unsafe write(type: type, id: id, data: $0, to: destination) }
        case .nothing(let bytes):
            unsafe unreadable.add(type: type)
            try unsafe bytes.withUnsafeBytes { try unsafe write(type: type, id: id, data: $0, to: destination) }
        }
    }

    /// Writes a row, or deletes it when there is no data; notes it when a constraint refuses that.
    private mutating func write(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?,
        to destination: RowDestination
    ) throws {
        do {
            if let currentParent, unsafe data == nil || destination.hasOwnStatement {
                try unsafe dependents?.note(with: id, in: currentParent.name)
            }
            try unsafe destination.write(type: type, id: id, data: data)
        } catch {
            try unsafe refuse(type: type, id: id, data: data, error)
        }
    }

    /// Writes a row of a direct table whose values have the types of their columns, without reading its text once more.
    ///
    /// - Returns: `false` for any other row.
    private mutating func putTyped(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        to destination: RowDestination
    ) throws -> Bool {
        guard case .rawTable(let rows) = destination, rows.isDirect else { return false }
        do {
            return try unsafe rows.putTyped(id: id, data: data)
        } catch {
            try unsafe refuse(type: type, id: id, data: data, error)
            return true
        }
    }

    /// Notes a row that a constraint refuses; every other error ends the publication.
    private mutating func refuse(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?,
        _ error: any Error
    ) throws {
        // A trigger that ends the transaction ends the publication with it.
        guard db.isInsideTransaction, let refusal = Refusal(error) else { throw error }
        if refusal.isForeignKey { mustDeferForeignKeys = true }
        let key = unsafe RowKey(type: Array(type), id: Array(id))
        unsafe refused.add(RefusedRows.Row(key: key, data: data.map { unsafe Array($0) }, refusal: refusal))
    }

    private mutating func write(_ row: RowKey, data: [UInt8]?, _ schema: inout KnownSchema) throws {
        let destination = try unsafe row.type.withUnsafeBytes { try unsafe self.destination(for: $0, &schema) }
        try unsafe row.type.withUnsafeBytes { type in
            try unsafe row.id.withUnsafeBytes { id in
                guard let data else { return try unsafe write(type: type, id: id, data: nil, to: destination) }
                try unsafe data.withUnsafeBytes { try unsafe write(type: type, id: id, data: $0, to: destination) }
            }
        }
    }

    private mutating func destination(
        for type: UnsafeRawBufferPointer,
        _ schema: inout KnownSchema
    ) throws -> RowDestination {
        if let current, unsafe current.type.elementsEqual(type) { return current.destination }
        noteWritten()
        let destination = try unsafe RowDestination(
            db,
            type: String(decoding: type, as: UTF8.self),
            rawTables: rawTables,
            schema: &schema
        )
        current = unsafe (Array(type), destination)
        currentParent = nil
        if let dependents, let table = try? destination.table, dependents.areIn(table) { currentParent = table }
        return destination
    }

    /// Notes what the rows of the current type have changed, when there are no more of them.
    private mutating func noteWritten() {
        if let current { written.formUnion(current.destination.written) }
    }
}

// MARK: - Refused rows

extension RowPublisher {
    /// Tries the refused rows again, as long as there are fewer of them each time.
    ///
    /// That is enough where one row takes what another one has given up.
    ///
    /// - Parameters:
    ///   - beforeExchange: Whether ``exchange(_:)`` follows, which writes a long chain of such rows at once: here each pass would free one
    ///     of them.
    ///   - schema: What is known of the tables.
    /// - Throws: What is no refusal.
    private mutating func retry(beforeExchange: Bool = false, _ schema: inout KnownSchema) throws {
        while !refused.isEmpty {
            let rows = refused.take()
            for row in rows { try write(row.key, data: row.data, &schema) }
            guard refused.rows.count < rows.count else { return }
            if beforeExchange, refused.rows.count > rows.count / 2, refused.rows.contains(where: \.refusal.isUnique) {
                return
            }
        }
    }

    /// Writes rows that exchange unique values.
    ///
    /// All refused rows of the types in question give up the values that they have, and are written again. What is still
    /// refused then is refused by the others as they are to be; so everything is undone and done again without those rows.
    /// Only if their old values refuse others now, they are deleted.
    private mutating func exchange(_ schema: inout KnownSchema) throws {
        let types = Set(refused.rows.filter(\.refusal.isUnique).map(\.key.type))
        guard !types.isEmpty else { return }
        if !schema.mustDeferForeignKeys, hasViolatedForeignKeys {
            mustDeferForeignKeys = true
            return
        }
        let first = refused
        let savepoint = try Savepoint(db, "powersync_exchange")
        try exchange(first.rows.filter { $0.data != nil && types.contains($0.key.type) }.map(\.key), &schema)
        let hopeless = Set(refused.rows.map(\.key))
        if !hopeless.isEmpty {
            let hopeful = first.rows.filter {
                $0.data != nil && types.contains($0.key.type) && !hopeless.contains($0.key)
            }
            try savepoint.undo()
            refused = first
            try exchange(hopeful.map(\.key), &schema)
            let blocked = Set(refused.rows.map(\.key)).subtracting(hopeless)
            if !blocked.isEmpty {
                let blockedTypes = Set(blocked.map(\.type))
                try savepoint.undo()
                refused = RefusedRows()
                for row in first.rows
                where row.data != nil && hopeless.contains(row.key) && blockedTypes.contains(row.key.type) {
                    try write(row.key, data: nil, &schema)
                }
                refused = first
                try exchange(hopeful.map(\.key), &schema)
                // Deleting has not helped, for example because a trigger refuses it: then no row gives up anything.
                if !Set(refused.rows.map(\.key)).isDisjoint(with: hopeful.map(\.key)) {
                    try savepoint.undo()
                    refused = first
                }
            }
        }
        try savepoint.end()
    }

    /// Has rows give up their unique values, and tries all refused rows again.
    private mutating func exchange(_ rows: [RowKey], _ schema: inout KnownSchema) throws {
        let ignoresChecks = try Bool.fetchOne(db, sql: "PRAGMA ignore_check_constraints") == true
        try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
        try deferForeignKeys()
        do {
            for row in rows { try surrender(row, &schema) }
        } catch {
            if !ignoresChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = OFF") }
            throw error
        }
        if !ignoresChecks { try db.execute(sql: "PRAGMA ignore_check_constraints = OFF") }
        try retry(&schema)
    }

    /// Has a row give up its unique values; where that is refused and nothing is lost by it, the row is deleted.
    private mutating func surrender(_ row: RowKey, _ schema: inout KnownSchema) throws {
        let destination = try unsafe row.type.withUnsafeBytes { try unsafe self.destination(for: $0, &schema) }
        if surrenders[row.type] == nil { surrenders[row.type] = try destination.table?.surrenders(db) ?? [] }
        if let statements = surrenders[row.type] {
            for sql in statements {
                do {
                    let statement = try PreparedStatement(db, sql: sql)
                    try unsafe row.id.withUnsafeBytes { try unsafe statement.bind(checkedText: $0, at: 1, .inPlace) }
                    try statement.run()
                    if surrendered.insert(sql).inserted { written.formUnion(try WrittenTables(db, of: sql)) }
                    return
                } catch let error as DatabaseError
                    where db.isInsideTransaction && [.SQLITE_CONSTRAINT, .SQLITE_ERROR].contains(error.resultCode)
                {}
            }
        }
        guard destination.writesWholeRows else { return }
        do {
            try unsafe row.type.withUnsafeBytes { type in
                try unsafe row.id.withUnsafeBytes { id in
                    if let currentParent { try unsafe dependents?.note(with: id, in: currentParent.name) }
                    try unsafe destination.write(type: type, id: id, data: nil)
                }
            }
        } catch  where db.isInsideTransaction && Refusal(error) != nil {}
    }
}
