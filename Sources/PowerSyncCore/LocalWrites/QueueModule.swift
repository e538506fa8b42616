import GRDBSQLite
import PowerSyncProtocol
import PowerSyncSQLite

/// The virtual tables `powersync_crud` and `powersync_crud_`, through which triggers fill the upload queue
/// (docs/database.md "Queue tables").
///
/// They are needed because stored triggers insert into these names, and because a virtual table is told about the
/// begin, commit, rollback and savepoints of the transaction. Both exist without being created ("eponymous-only") and
/// accept inserts only; everything else is `SQLITE_MISUSE`.
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
        unsafe module.register(kind.name, on: state.handle, context: Context(kind: kind, state: state))
    }

    // MARK: - Callbacks

    private static let module = VirtualTable.Module { module in
        // Version 2 has the savepoint callbacks.
        module.iVersion = 2
        unsafe module.xConnect = { handle, auxiliary, _, _, table, _ in
            unsafe QueueModule.connect(handle, auxiliary, table)
        }
        unsafe module.xDisconnect = { unsafe QueueModule.disconnect($0) }
        unsafe module.xOpen = { table, _ in unsafe QueueModule.misuse(table, "can only be inserted into") }
        unsafe module.xUpdate = { table, count, arguments, rowID in
            unsafe QueueModule.update(table, count, arguments, rowID)
        }
        unsafe module.xBegin = { table in unsafe QueueModule.perform(table) { try $0.state.recorder.begin() } }
        unsafe module.xSync = { table in
            unsafe QueueModule.perform(table) { context in
                try unsafe context.state.recorder.recordRemovedRows()
                try context.state.recorder.announceChanges(context.state)
            }
        }
        unsafe module.xCommit = { table in unsafe QueueModule.perform(table) { $0.state.recorder.end() } }
        unsafe module.xRollback = { table in unsafe QueueModule.perform(table) { $0.state.recorder.rollBack() } }
        unsafe module.xSavepoint = { _, _ in SQLITE_OK }
        unsafe module.xRelease = { _, _ in SQLITE_OK }
        unsafe module.xRollbackTo = { table, _ in
            unsafe QueueModule.perform(table) { $0.state.recorder.rollBackToSavepoint() }
        }
    }

    private typealias Table = VirtualTable.Pointer

    private static func connect(
        _ handle: OpaquePointer?,
        _ auxiliary: UnsafeMutableRawPointer?,
        _ table: UnsafeMutablePointer<Table?>?
    ) -> Int32 {
        guard let auxiliary = unsafe auxiliary else { return SQLITE_INTERNAL }
        let declaration = unsafe Unmanaged<Context>.fromOpaque(auxiliary)._withUnsafeGuaranteedRef {
            $0.kind.declaration
        }
        return unsafe VirtualTable.connect(handle, declaring: declaration, context: auxiliary, table)
    }

    /// SQLite disconnects tables before it checks that all statements of a connection are finalised, so this is where
    /// ours go.
    private static func disconnect(_ table: Table?) -> Int32 {
        guard let table = unsafe table else { return SQLITE_OK }
        unsafe context(of: table)._withUnsafeGuaranteedRef { $0.state.recorder.close() }
        return unsafe VirtualTable.disconnect(table)
    }

    private static func update(
        _ table: Table?,
        _ count: Int32,
        _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
        _ rowID: UnsafeMutablePointer<sqlite3_int64>?
    ) -> Int32 {
        guard count > 1, let arguments = unsafe arguments else {
            return unsafe misuse(table, "does not support DELETE")
        }
        guard unsafe sqlite3_value_type(arguments[0]) == SQLITE_NULL else {
            return unsafe misuse(table, "does not support UPDATE")
        }
        return unsafe perform(table) { context in
            let state = context.state
            // The columns follow two row ids.
            guard Int(count) == context.kind.columnCount + 2 else {
                throw LocalDatabaseError(.internalError, "\(context.kind.name) got \((count - 2).counted("column"))")
            }
            guard !state.isPublishing else { return }
            switch context.kind {
            case .writes:
                try unsafe state.recorder.add(
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
                try unsafe state.recorder.addInsertOnly(
                    SQLArgument(arguments[2]),
                    options: SQLArgument(arguments[3]).integer
                )
            }
            unsafe rowID?.pointee = sqlite3_last_insert_rowid(state.handle)
        }
    }

    // MARK: - Errors

    /// Runs a callback, and hands its error to SQLite.
    private static func perform(_ table: Table?, _ body: (Context) throws -> Void) -> Int32 {
        guard let table = unsafe table else { return SQLITE_INTERNAL }
        return unsafe context(of: table)._withUnsafeGuaranteedRef { context in
            do {
                try body(context)
                return SQLITE_OK
            } catch {
                let (code, message) = SQLiteFailureDescription.describe(error)
                unsafe VirtualTable.setMessage(message, of: table)
                return code
            }
        }
    }

    private static func misuse(_ table: Table?, _ problem: String) -> Int32 {
        unsafe perform(table) { context in
            throw LocalDatabaseError.invalidState("\(context.kind.name) \(problem)")
        }
    }

    private static func context(of table: Table) -> Unmanaged<Context> {
        unsafe VirtualTable.context(of: table)
    }
}
