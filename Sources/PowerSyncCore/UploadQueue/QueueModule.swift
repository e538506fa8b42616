import GRDBSQLite

/// The virtual tables `powersync_crud` and `powersync_crud_`, through which triggers fill the upload queue
/// (docs/database.md "Queue tables").
///
/// They are needed because stored triggers insert into these names, and because a virtual table is told about the
/// begin, commit, rollback and savepoints of the transaction. Both exist without being created ("eponymous-only") and
/// accept inserts only; everything else is `SQLITE_MISUSE`.
///
/// Memory: a `sqlite3_vtab` is allocated with one pointer behind it, to a retained ``Context``. SQLite knows the first
/// part only.
enum QueueModule {
    /// One of the tables.
    enum Kind: CaseIterable {
        /// `powersync_crud`: writes of normal and raw tables.
        case writes
        /// `powersync_crud_`: entries of insert-only tables.
        case insertOnlyEntries

        var name: String {
            switch self {
            case .writes: "powersync_crud"
            case .insertOnlyEntries: "powersync_crud_"
            }
        }

        var declaration: String {
            switch self {
            case .writes:
                """
                CREATE TABLE powersync_crud(op TEXT, id TEXT, type TEXT, data TEXT, old_values TEXT, metadata TEXT, \
                options INT HIDDEN)
                """
            case .insertOnlyEntries:
                "CREATE TABLE powersync_crud_(data TEXT, options INT HIDDEN)"
            }
        }

        /// The number of declared columns.
        var columnCount: Int {
            switch self {
            case .writes: 7
            case .insertOnlyEntries: 2
            }
        }
    }

    /// A row inserted into `powersync_crud`.
    struct Write {
        let operation: SQLArgument
        let id: SQLArgument
        let type: SQLArgument
        let data: SQLArgument
        let oldValues: SQLArgument
        let metadata: SQLArgument
        let options: Int64
    }

    /// What a table of one connection works with.
    private final class Context {
        let kind: Kind
        let state: ConnectionState

        init(kind: Kind, state: ConnectionState) {
            self.kind = kind
            self.state = state
        }
    }

    /// Registers a table on a connection.
    static func register(_ kind: Kind, _ state: ConnectionState) -> Int32 {
        sqlite3_create_module_v2(
            state.handle,
            kind.name,
            module.pointer,
            Unmanaged.passRetained(Context(kind: kind, state: state)).toOpaque(),
            { pointer in
                guard let pointer else { return }
                Unmanaged<Context>.fromOpaque(pointer).release()
            }
        )
    }

    // MARK: - Callbacks

    /// SQLite keeps the address of a module as long as any connection lives: it is allocated once and never freed.
    private static let module = Module()

    /// `@unchecked Sendable`: the memory is written before the value is published, and only read afterwards.
    private struct Module: @unchecked Sendable {
        let pointer: UnsafePointer<sqlite3_module>

        init() {
            var module = sqlite3_module()
            // Version 2 has the savepoint callbacks.
            module.iVersion = 2
            module.xConnect = { handle, auxiliary, _, _, table, _ in QueueModule.connect(handle, auxiliary, table) }
            module.xDisconnect = { QueueModule.disconnect($0) }
            // Statements that read are prepared, and fail when they open the table: only then the code survives.
            module.xBestIndex = { _, _ in SQLITE_OK }
            module.xOpen = { table, _ in QueueModule.misuse(table, "can only be inserted into") }
            module.xClose = { _ in SQLITE_MISUSE }
            module.xFilter = { _, _, _, _, _ in SQLITE_MISUSE }
            module.xNext = { _ in SQLITE_MISUSE }
            module.xEof = { _ in 1 }
            module.xColumn = { _, _, _ in SQLITE_MISUSE }
            module.xRowid = { _, _ in SQLITE_MISUSE }
            module.xUpdate = { table, count, arguments, rowID in
                QueueModule.update(table, count, arguments, rowID)
            }
            module.xBegin = { table in QueueModule.perform(table) { try $0.state.recorder.begin() } }
            module.xSync = { table in QueueModule.perform(table) { try $0.state.announceQueueChanges() } }
            module.xCommit = { table in QueueModule.perform(table) { $0.state.recorder.end() } }
            module.xRollback = { table in QueueModule.perform(table) { $0.state.recorder.end() } }
            module.xSavepoint = { _, _ in SQLITE_OK }
            module.xRelease = { _, _ in SQLITE_OK }
            module.xRollbackTo = { table, _ in
                QueueModule.perform(table) { $0.state.recorder.rollBackToSavepoint() }
            }
            let memory = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
            memory.initialize(to: module)
            pointer = UnsafePointer(memory)
        }
    }

    private typealias Table = UnsafeMutablePointer<sqlite3_vtab>

    /// Where the pointer to the context is, behind the part that SQLite knows.
    private static let contextOffset = MemoryLayout<sqlite3_vtab>.stride

    private static func connect(
        _ handle: OpaquePointer?,
        _ auxiliary: UnsafeMutableRawPointer?,
        _ table: UnsafeMutablePointer<Table?>?
    ) -> Int32 {
        guard let auxiliary, let table else { return SQLITE_INTERNAL }
        let context = Unmanaged<Context>.fromOpaque(auxiliary)
        let code = sqlite3_declare_vtab(handle, context.takeUnretainedValue().kind.declaration)
        guard code == SQLITE_OK else { return code }
        let size = contextOffset + MemoryLayout<UnsafeMutableRawPointer>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<sqlite3_vtab>.alignment)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        memory.storeBytes(
            of: context.retain().toOpaque(),
            toByteOffset: contextOffset,
            as: UnsafeMutableRawPointer.self
        )
        table.pointee = memory.assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    /// SQLite disconnects tables before it checks that all statements of a connection are finalised, so this is where
    /// ours go.
    private static func disconnect(_ table: Table?) -> Int32 {
        guard let table else { return SQLITE_OK }
        let context = context(of: table)
        context._withUnsafeGuaranteedRef { $0.state.closeStatements() }
        context.release()
        sqlite3_free(table.pointee.zErrMsg)
        UnsafeMutableRawPointer(table).deallocate()
        return SQLITE_OK
    }

    private static func update(
        _ table: Table?,
        _ count: Int32,
        _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
        _ rowID: UnsafeMutablePointer<sqlite3_int64>?
    ) -> Int32 {
        guard count > 1, let arguments else { return misuse(table, "does not support DELETE") }
        guard sqlite3_value_type(arguments[0]) == SQLITE_NULL else { return misuse(table, "does not support UPDATE") }
        return perform(table) { context in
            let state = context.state
            // The columns follow two row ids.
            guard Int(count) == context.kind.columnCount + 2 else {
                throw LocalDatabaseError(.internalError, "\(context.kind.name) got \(count - 2) columns")
            }
            guard !state.isPublishing else { return }
            switch context.kind {
            case .writes:
                try state.recorder.add(
                    Write(
                        operation: SQLArgument(arguments[2]),
                        id: SQLArgument(arguments[3]),
                        type: SQLArgument(arguments[4]),
                        data: SQLArgument(arguments[5]),
                        oldValues: SQLArgument(arguments[6]),
                        metadata: SQLArgument(arguments[7]),
                        options: SQLArgument(arguments[8]).integer
                    ),
                    state
                )
            case .insertOnlyEntries:
                try state.recorder.addInsertOnly(
                    SQLArgument(arguments[2]),
                    options: SQLArgument(arguments[3]).integer
                )
            }
            rowID?.pointee = sqlite3_last_insert_rowid(state.handle)
        }
    }

    // MARK: - Errors

    /// Runs a callback, and hands its error to SQLite.
    private static func perform(_ table: Table?, _ body: (Context) throws -> Void) -> Int32 {
        guard let table else { return SQLITE_INTERNAL }
        return context(of: table)._withUnsafeGuaranteedRef { context in
            do {
                try body(context)
                return SQLITE_OK
            } catch {
                let (code, message) = SQLiteFailureDescription.describe(error)
                setMessage(message, table)
                return code
            }
        }
    }

    private static func misuse(_ table: Table?, _ problem: String) -> Int32 {
        perform(table) { context in
            throw LocalDatabaseError.invalidState("\(context.kind.name) \(problem)")
        }
    }

    private static func context(of table: Table) -> Unmanaged<Context> {
        Unmanaged.fromOpaque(
            UnsafeRawPointer(table).load(fromByteOffset: contextOffset, as: UnsafeMutableRawPointer.self)
        )
    }

    /// SQLite frees the message with `sqlite3_free`.
    private static func setMessage(_ message: String, _ table: Table) {
        sqlite3_free(table.pointee.zErrMsg)
        let utf8 = Array(message.utf8) + [0]
        guard let copy = sqlite3_malloc64(UInt64(utf8.count)) else {
            table.pointee.zErrMsg = nil
            return
        }
        copy.copyMemory(from: utf8, byteCount: utf8.count)
        table.pointee.zErrMsg = copy.assumingMemoryBound(to: CChar.self)
    }
}
