import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// Adds local writes of one connection to the upload queue (docs/database.md "Queue tables").
///
/// It is what stands behind the virtual tables of ``QueueModule``: their callbacks tell it about transactions and hand
/// it the rows that triggers insert. All writes of a SQL transaction share one id from `ps_tx`, taken when SQLite
/// announces that a statement *may* write.
///
/// Savepoints: whatever is rolled back to, the row in `ps_tx` and the gate may have been undone with it. The next write
/// therefore stores them again. Counting savepoints would not help, since SQLite does not announce those that were
/// opened before the first write.
///
/// A trigger of the app on `ps_crud` may write to a view, so that one entry is added while another one is.
///
/// `@safe`: the ``ConnectionState`` owns it, which lives no longer than the connection.
@safe final class LocalWriteRecorder {
    /// What is known about the open transaction.
    private struct Transaction {
        /// The id that all its queue entries get.
        let id: Int64
        /// Whether a savepoint was rolled back, so that `ps_tx` may have lost the id.
        var needsIDStored = false
        /// Whether the write gate is known to be closed.
        var isGateClosed = false
        /// Whether this transaction closed it, for the announcement before the commit.
        var didCloseGate = false
        /// Whether anything was added to the queue, for the announcement before the commit.
        var didAddEntries = false
    }

    /// How many entries may be added while others are: far fewer than a thread's stack has room for.
    private static let levelLimit = 16

    private var transaction: Transaction?
    /// How many entries are being added.
    private var level = 0
    /// The memory for the next entry, unless one is being added, which has taken it; large memory is not kept.
    private(set) var entry = JSONBytes()
    /// The rows that the writes of the open transaction may remove besides their own.
    private var rowsInTheWay = RowsInTheWay()
    /// The type and id of a row that is about to be replaced by the same values.
    private var unchangedRow: (type: [UInt8], id: [UInt8])?

    /// What is written, as GRDB tells it, without and with a closed gate.
    private var regions: (entries: DatabaseRegion, entriesAndGate: DatabaseRegion)?

    private let handle: OpaquePointer
    private let uniqueKeys: UniqueKeySearch

    // Statements that run once per transaction or row do without RETURNING and IN (…): SQLite opens a temporary b-tree
    // for either, which costs more than all the rest of such a statement.
    private let takeID: KeptStatement
    private let readID: KeptStatement
    private let storeID: KeptStatement
    private let addEntry: KeptStatement
    private let markRow: KeptStatement
    private let readGate: KeptStatement
    private let setTarget: KeptStatement
    private let forgetSeen: KeptStatement

    init(handle: OpaquePointer) {
        unsafe self.handle = handle
        uniqueKeys = unsafe UniqueKeySearch(handle: handle)
        takeID = unsafe KeptStatement(handle, "UPDATE ps_tx SET next_tx = next_tx + 1 WHERE id = 1")
        readID = unsafe KeptStatement(handle, "SELECT next_tx FROM ps_tx WHERE id = 1")
        storeID = unsafe KeptStatement(handle, "UPDATE ps_tx SET next_tx = max(next_tx, ?1 + 1) WHERE id = 1")
        addEntry = unsafe KeptStatement(handle, "INSERT INTO ps_crud(tx_id, data) VALUES (?1, ?2)")
        markRow = unsafe KeptStatement(
            handle,
            "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)"
        )
        readGate = unsafe KeptStatement(handle, LocalWriteGate.isClosed)
        setTarget = unsafe KeptStatement(handle, LocalWriteGate.setPendingTarget)
        forgetSeen = unsafe KeptStatement(handle, LocalWriteGate.forgetSeen)
    }

    /// Finalises the statements, so that the connection can be closed.
    func close() {
        for statement in [takeID, readID, storeID, addEntry, markRow, readGate, setTarget, forgetSeen] {
            statement.close()
        }
        uniqueKeys.close()
    }

    // MARK: - Transactions

    /// A statement begins that may write to the queue.
    func begin() throws {
        guard transaction == nil else { return }
        // The update comes first: it waits for other writers of the file, which a read that turns into a write cannot.
        try takeID.run()
        let next = try readID.run()
        guard next > 0 else {
            throw LocalDatabaseError(.internalError, "The table ps_tx has no row with id 1")
        }
        transaction = Transaction(id: next - 1)
    }

    /// A savepoint was rolled back, explicitly or because a statement failed.
    func rollBackToSavepoint() {
        transaction?.needsIDStored = true
        gateMayBeOpen()
        uniqueKeys.forget()
        rowsInTheWay.rollBackToSavepoint()
    }

    /// The open transaction may have undone that the gate was closed.
    func gateMayBeOpen() {
        transaction?.isGateClosed = false
    }

    /// The transaction ended.
    func end() {
        transaction = nil
        rowsInTheWay.removeAll()
        unchangedRow = nil
    }

    /// The transaction was rolled back.
    func rollBack() {
        end()
        uniqueKeys.forget()
    }

    /// Tells observers about rows that the open transaction has written, which GRDB cannot see in the statement that fired a trigger.
    ///
    /// Called when the transaction is about to be committed.
    ///
    /// - Throws: GRDB's `DatabaseError`.
    func announceChanges(_ state: ConnectionState) throws {
        guard let transaction, transaction.didAddEntries else { return }
        let tables = transaction.didCloseGate ? Self.entryTables + Self.gateTables : Self.entryTables
        guard let database = state.database else {
            state.announcements.tableChanges?.add(tables)
            return
        }
        let regions = try regions ?? Self.regions(database)
        self.regions = regions
        self.transaction?.didAddEntries = false
        self.transaction?.didCloseGate = false
        try state.announcements.tell(
            database,
            tables,
            in: transaction.didCloseGate ? regions.entriesAndGate : regions.entries
        )
    }

    private static let entryTables = ["ps_crud", "ps_tx"]
    private static let gateTables = ["ps_kv"]

    /// One column a table is enough for rows that are inserted, and takes GRDB less time than all columns.
    private static func regions(_ db: Database) throws -> (entries: DatabaseRegion, entriesAndGate: DatabaseRegion) {
        func region(_ table: String, _ column: String) throws -> DatabaseRegion {
            try Table(table).select(Column(column)).databaseRegion(db)
        }
        let entries = try region("ps_crud", "id").union(region("ps_tx", "next_tx"))
        return (entries, entries.union(try region("ps_kv", "value")))
    }

    // MARK: - Writes

    /// Queues a write of a normal table: an insert into `powersync_crud`.
    ///
    /// Builds `{"op":…,"id":…,"type":…,"data":…,"old":…,"metadata":…}`, where the last three are there only if given.
    func add(_ write: QueueModule.Write, _ state: ConnectionState) throws {
        if write.options & TableFlags.beforeWrite.rawValue != 0 { return try note(write) }
        if !rowsInTheWay.isEmpty {
            if write.operation.isText("DELETE") {
                unsafe rowsInTheWay.remove(type: write.type.bytes, id: write.id.bytes)
            } else {
                try unsafe recordRemovedRows(ofType: write.type.bytes)
            }
        }
        let unchangedRow = unchangedRow
        self.unchangedRow = nil
        if write.options & TableFlags.ignoreEmptyUpdate.rawValue != 0, isEmptyChange(write, unchangedRow) { return }
        guard write.id.isText else { throw LocalDatabaseError.invalidArgument("id is required", cause: "not a text") }
        guard write.type.isText else {
            throw LocalDatabaseError.invalidArgument("type is required", cause: "not a text")
        }
        var entry = JSONBytes()
        swap(&entry, &self.entry)
        entry.removeAll()
        defer {
            entry.giveUpLargeMemory()
            self.entry = entry
        }
        try appendText(write.operation, named: "{\"op\":", "op", to: &entry)
        try appendText(write.id, named: ",\"id\":", "id", to: &entry)
        try appendText(write.type, named: ",\"type\":", "type", to: &entry)
        try appendObject(write.data, named: ",\"data\":", state, to: &entry)
        try appendObject(write.oldValues, named: ",\"old\":", state, to: &entry)
        switch write.metadata.storageClass {
        case .text: try appendText(write.metadata, named: ",\"metadata\":", "metadata", to: &entry)
        case .integer, .real: entry.append(",\"metadata\":\"\(write.metadata.numberText)\"")
        case .null, .blob: break
        }
        entry.append("}")

        try unsafe entry.withUnsafeBytes { try unsafe add($0, type: write.type.bytes, id: write.id.bytes) }
    }

    /// Whether a write leaves its row as it is.
    private func isEmptyChange(_ write: QueueModule.Write, _ unchangedRow: (type: [UInt8], id: [UInt8])?) -> Bool {
        if write.operation.isText("PATCH") { return write.data.isText("{}") }
        guard let unchangedRow, write.operation.isText("PUT") else { return false }
        return unsafe write.type.bytes.elementsEqual(unchangedRow.type) && write.id.bytes.elementsEqual(unchangedRow.id)
    }

    /// Adds an entry, marks its row, and closes the gate.
    private func add(
        _ entry: UnsafeRawBufferPointer,
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer
    ) throws {
        try unsafe add(entry)
        try markRow.run { statement in
            try unsafe statement.bind(checkedText: type, at: 1, .inPlace)
            try unsafe statement.bind(checkedText: id, at: 2, .inPlace)
        }
        transaction?.didAddEntries = true
        try closeGate()
    }

    // MARK: - Rows that are removed without a trigger

    /// Notes what a trigger has found before a write: an insert into `powersync_crud` whose options have ``TableFlags/beforeWrite``.
    ///
    /// `DELETE` is a row in the way, whose table is in `metadata`; `PUT` is the row itself, and `data` whether it is there with the
    /// same values.
    private func note(_ write: QueueModule.Write) throws {
        guard write.id.isText, write.type.isText else { return }
        if write.operation.isText("PUT") {
            let isUnchanged = write.data.integer != 0
            unchangedRow = unsafe isUnchanged ? (Array(write.type.bytes), Array(write.id.bytes)) : nil
            return
        }
        try unsafe noteRowInTheWay(
            type: write.type.bytes,
            id: write.id.bytes,
            table: write.metadata.string,
            oldValues: write.oldValues.isText ? write.oldValues.bytes : nil
        )
    }

    /// Notes the rows of a data table whose unique keys a row has that is about to be stored.
    ///
    /// - Parameters:
    ///   - type: The table's name.
    ///   - id: The id of the row.
    ///   - data: The row as JSON.
    ///   - oldValues: A query for the previous values of the row with the id `?1`; `nil` when they are not tracked.
    /// - Throws: `DatabaseError`.
    func noteRowsInTheWay(
        type: SQLArgument,
        id: SQLArgument,
        data: UnsafeRawBufferPointer,
        oldValues: SQLArgument?
    ) throws {
        let conflicts = try unsafe uniqueKeys.conflicts(type: type.bytes, id: id.bytes, data: data)
        guard !conflicts.isEmpty else { return }
        let table = DataTable(name: type.string, isLocalOnly: false).internalName
        for other in conflicts {
            try unsafe other.withUnsafeBytes { other in
                let query = try oldValues.flatMap { try unsafe PreparedStatement(preparing: $0.string, on: handle) }
                try unsafe query?.bind(checkedText: other, at: 1, .inPlace)
                let hasValues = try query?.step() ?? false
                try unsafe noteRowInTheWay(
                    type: type.bytes,
                    id: other,
                    table: SQLText.identifier(table),
                    oldValues: hasValues ? query?.text(at: 0) : nil
                )
                query?.reset()
            }
        }
    }

    private func noteRowInTheWay(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        table: String,
        oldValues: UnsafeRawBufferPointer?
    ) throws {
        try unsafe rowsInTheWay.forgetUndone(on: handle)
        var entry = JSONBytes()
        entry.append("{\"op\":\"DELETE\",\"id\":")
        unsafe entry.appendString(id)
        entry.append(",\"type\":")
        unsafe entry.appendString(type)
        if let oldValues = unsafe oldValues, unsafe (try? Self.check(oldValues)) != nil {
            entry.append(",\"old\":")
            unsafe entry.append(oldValues)
        }
        entry.append("}")
        unsafe rowsInTheWay.add(
            RowsInTheWay.Row(
                type: Array(type),
                id: Array(id),
                table: table,
                entry: entry.withUnsafeBytes { unsafe Array($0) }
            )
        )
    }

    /// Queues the deletion of the noted rows that are gone.
    ///
    /// - Parameter type: The rows' type; `nil` for all, which is for the end of a transaction.
    /// - Throws: `DatabaseError`.
    func recordRemovedRows(ofType type: UnsafeRawBufferPointer? = nil) throws {
        guard !rowsInTheWay.isEmpty else { return }
        try unsafe rowsInTheWay.forgetUndone(on: handle)
        for row in unsafe rowsInTheWay.take(type: type) where try unsafe !row.exists(on: handle) {
            try unsafe row.entry.withUnsafeBytes { entry in
                try unsafe row.type.withUnsafeBytes { type in
                    try unsafe row.id.withUnsafeBytes { try unsafe add(entry, type: type, id: $0) }
                }
            }
        }
    }

    /// Queues a write of an insert-only table: an insert into `powersync_crud_`.
    ///
    /// Neither closes the gate nor marks a row: nothing was stored that the service could replace.
    func addInsertOnly(_ data: SQLArgument, options: Int64) throws {
        do {
            guard data.isText else { throw LocalDatabaseError.invalidArgument("data is required", cause: "not a text") }
            try unsafe Self.check(data.bytes)
        } catch let error as JSONError {
            throw LocalDatabaseError.invalidArgument("data must be a JSON object", cause: error.description)
        }
        if options & TableFlags.ignoreEmptyUpdate.rawValue != 0, try unsafe isEmptyUpdate(data.bytes) { return }
        try unsafe add(data.bytes)
        transaction?.didAddEntries = true
    }

    /// Adds an entry, and with it those that triggers of the app add.
    private func add(_ entry: UnsafeRawBufferPointer) throws {
        // Each level is a statement of its own, whose triggers SQLite does not count.
        guard level < Self.levelLimit else {
            throw LocalDatabaseError(
                .invalidState,
                "Triggers on ps_crud write to views for entries that such triggers have added, \(level) levels deep: restrict them with "
                    + "WHEN NEW.data ->> 'type' = …"
            )
        }
        level += 1
        defer { level -= 1 }
        let id = try currentID()
        try addEntry.run { statement in
            statement.bind(id, at: 1)
            try unsafe statement.bind(checkedText: entry, at: 2, .inPlace)
        }
    }

    /// The transaction's id, stored again if a savepoint took it away.
    private func currentID() throws -> Int64 {
        guard let transaction else {
            throw LocalDatabaseError(.internalError, "A local write was recorded outside of a transaction")
        }
        if transaction.needsIDStored {
            try storeID.run { $0.bind(transaction.id, at: 1) }
            self.transaction?.needsIDStored = false
        }
        return transaction.id
    }

    /// `LocalWriteGate.close`, once per transaction, and only if it is not closed already, which is the usual case.
    private func closeGate() throws {
        guard transaction?.isGateClosed == false else { return }
        if try readGate.run() == 0 {
            try setTarget.run()
            try forgetSeen.run()
            transaction?.didCloseGate = true
        }
        transaction?.isGateClosed = true
    }

    private func appendText(
        _ value: SQLArgument,
        named member: StaticString,
        _ name: String,
        to entry: inout JSONBytes
    ) throws {
        entry.append(member)
        guard unsafe entry.appendValidString(value.bytes) else {
            throw LocalDatabaseError.invalidArgument("\(name) must be text", cause: "not valid UTF-8")
        }
    }

    /// Embeds a member whose text is a JSON object already.
    ///
    /// Values of other types are left out.
    private func appendObject(
        _ value: SQLArgument,
        named name: StaticString,
        _ state: ConnectionState,
        to entry: inout JSONBytes
    ) throws {
        guard value.isText else { return }
        let bytes = unsafe value.bytes
        // Everything that our functions have not just made, or have forgotten because it is large, is checked: the JSON
        // functions of SQLite let invalid UTF-8 and infinities through, and triggers of the application may write anything.
        if unsafe !state.rowObject.wroteLast(bytes), unsafe !state.difference.wroteLast(bytes) {
            do throws(JSONError) {
                try unsafe Self.check(bytes)
            } catch {
                throw LocalDatabaseError.invalidArgument(
                    "data and old_values must be JSON objects",
                    cause: error.description
                )
            }
        }
        entry.append(name)
        unsafe entry.append(bytes)
    }

    private func isEmptyUpdate(_ text: UnsafeRawBufferPointer) throws -> Bool {
        do {
            var isPatch = false
            var isEmpty = false
            var scanner = unsafe JSONScanner(text)
            try scanner.beginObject()
            while let name = try scanner.nextMember() {
                let value = try scanner.skipValue()
                if name.equals("op") {
                    isPatch = unsafe text[value].elementsEqual("\"PATCH\"".utf8)
                } else if name.equals("data") {
                    isEmpty = unsafe text[value].elementsEqual("{}".utf8)
                }
            }
            return isPatch && isEmpty
        } catch {
            throw LocalDatabaseError.invalidArgument("data must be a JSON object", cause: "\(error)")
        }
    }
}

extension LocalWriteRecorder {
    /// Checks that a text can be part of the upload queue: a JSON object, with numbers that a double can hold.
    ///
    /// What triggers of ours write is known to be; those of the application may write anything, and an entry that cannot be read
    /// would stop all uploads behind it.
    ///
    /// - Throws: `JSONError` for what is wrong.
    private static func check(_ text: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = unsafe JSONScanner(text)
        try scanner.beginObject()
        while try scanner.nextMember() != nil { try checkValue(&scanner) }
        try scanner.finish()
    }

    private static func checkValue(_ scanner: inout JSONScanner) throws(JSONError) {
        switch try scanner.nextKind() {
        case .number:
            try scanner.readNumber().checkRange()
        case .object:
            try scanner.beginObject()
            while try scanner.nextMember() != nil { try checkValue(&scanner) }
        case .array:
            try scanner.beginArray()
            while try scanner.nextElement() { try checkValue(&scanner) }
        case .string, .bool, .null:
            _ = try scanner.skipValue()
        }
    }
}
