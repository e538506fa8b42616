import GRDBSQLite

/// Has the statements of ours finalised when a connection closes.
///
/// SQLite refuses to close a connection that has statements, and tells nobody beforehand; but it disconnects virtual tables
/// before it looks. `powersync_connection_end` is one that nothing reads or writes, so no statement keeps it connected.
/// It has no content and cannot be opened.
///
/// Memory: as in ``QueueModule``, a pointer to the retained ``ConnectionState`` stands behind the part that SQLite knows.
enum ConnectionEnd {
    private static let name = "powersync_connection_end"

    /// Registers the table on a connection.
    static func register(_ state: ConnectionState) -> Int32 {
        sqlite3_create_module_v2(
            state.handle,
            name,
            module.pointer,
            Unmanaged.passRetained(state).toOpaque(),
            { pointer in
                guard let pointer else { return }
                Unmanaged<ConnectionState>.fromOpaque(pointer).release()
            }
        )
    }

    /// Connects the table: only those are disconnected that a statement has named.
    static func announce(of handle: OpaquePointer) {
        var statement: OpaquePointer?
        sqlite3_prepare_v2(handle, "SELECT 1 FROM \(name)", -1, &statement, nil)
        sqlite3_finalize(statement)
    }

    // MARK: - Callbacks

    /// SQLite keeps the address of a module as long as any connection lives: it is allocated once and never freed.
    private static let module = Module()

    /// `@unchecked Sendable`: the memory is written before the value is published, and only read afterwards.
    private struct Module: @unchecked Sendable {
        let pointer: UnsafePointer<sqlite3_module>

        init() {
            var module = sqlite3_module()
            module.xConnect = { handle, state, _, _, table, _ in ConnectionEnd.connect(handle, state, table) }
            module.xDisconnect = { ConnectionEnd.disconnect($0) }
            module.xBestIndex = { _, _ in SQLITE_OK }
            module.xOpen = { _, _ in SQLITE_MISUSE }
            module.xClose = { _ in SQLITE_MISUSE }
            module.xFilter = { _, _, _, _, _ in SQLITE_MISUSE }
            module.xNext = { _ in SQLITE_MISUSE }
            module.xEof = { _ in 1 }
            module.xColumn = { _, _, _ in SQLITE_MISUSE }
            module.xRowid = { _, _ in SQLITE_MISUSE }
            let memory = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
            memory.initialize(to: module)
            pointer = UnsafePointer(memory)
        }
    }

    private static let stateOffset = MemoryLayout<sqlite3_vtab>.stride

    private static func connect(
        _ handle: OpaquePointer?,
        _ state: UnsafeMutableRawPointer?,
        _ table: UnsafeMutablePointer<UnsafeMutablePointer<sqlite3_vtab>?>?
    ) -> Int32 {
        guard let state, let table else { return SQLITE_INTERNAL }
        let code = sqlite3_declare_vtab(handle, "CREATE TABLE \(name)(x)")
        guard code == SQLITE_OK else { return code }
        let size = stateOffset + MemoryLayout<UnsafeMutableRawPointer>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<sqlite3_vtab>.alignment)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        memory.storeBytes(
            of: Unmanaged<ConnectionState>.fromOpaque(state).retain().toOpaque(),
            toByteOffset: stateOffset,
            as: UnsafeMutableRawPointer.self
        )
        table.pointee = memory.assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    private static func disconnect(_ table: UnsafeMutablePointer<sqlite3_vtab>?) -> Int32 {
        guard let table else { return SQLITE_OK }
        let memory = UnsafeMutableRawPointer(table)
        let state = Unmanaged<ConnectionState>.fromOpaque(
            memory.load(fromByteOffset: stateOffset, as: UnsafeMutableRawPointer.self)
        )
        state._withUnsafeGuaranteedRef { $0.closeStatements() }
        state.release()
        sqlite3_free(table.pointee.zErrMsg)
        memory.deallocate()
        return SQLITE_OK
    }
}
