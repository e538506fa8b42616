// Public for the sake of what is inlined.
public import GRDBSQLite

/// What virtual tables written in Swift have in common: their memory, their module and their messages.
///
/// Memory: a `sqlite3_vtab` is allocated with one pointer behind it, to a retained object, the table's context. SQLite knows the
/// first part only.
///
/// Such a table exists without being created ("eponymous-only"), is connected when a statement first names it, and is
/// disconnected when its connection closes, before SQLite looks for statements that are left.
@usableFromInline
package enum VirtualTable {
    /// A table as SQLite passes it to callbacks.
    @usableFromInline package typealias Pointer = UnsafeMutablePointer<sqlite3_vtab>

    /// Where the pointer to the context is, behind the part that SQLite knows.
    @usableFromInline static let contextOffset = unsafe MemoryLayout<sqlite3_vtab>.stride

    /// The callbacks of a kind of tables.
    ///
    /// SQLite keeps the address as long as any connection lives: a module is allocated once and never freed.
    ///
    /// `@unchecked Sendable`: the memory is written before the value is published, and only read afterwards.
    ///
    /// `@safe`: the memory is never freed.
    @safe package struct Module: @unchecked Sendable {
        private let pointer: UnsafePointer<sqlite3_module>

        /// Creates a module whose tables cannot be read.
        ///
        /// - Parameter add: Adds callbacks: `xConnect` and `xDisconnect` at least.
        package init(_ add: (inout sqlite3_module) -> Void) {
            var module = sqlite3_module()
            // Statements that read are prepared, and fail when they open the table: only then the code survives.
            unsafe module.xBestIndex = { _, _ in SQLITE_OK }
            unsafe module.xOpen = { _, _ in SQLITE_MISUSE }
            unsafe module.xClose = { _ in SQLITE_MISUSE }
            unsafe module.xFilter = { _, _, _, _, _ in SQLITE_MISUSE }
            unsafe module.xNext = { _ in SQLITE_MISUSE }
            unsafe module.xEof = { _ in 1 }
            unsafe module.xColumn = { _, _, _ in SQLITE_MISUSE }
            unsafe module.xRowid = { _, _ in SQLITE_MISUSE }
            add(&module)
            let memory = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
            unsafe memory.initialize(to: module)
            unsafe pointer = UnsafePointer(memory)
        }

        /// Registers a table on a connection.
        ///
        /// - Parameters:
        ///   - name: The name of the table.
        ///   - connection: The `sqlite3 *`.
        ///   - context: What the table works with: `xConnect` gets a pointer to it. Kept until the connection closes.
        /// - Returns: SQLite's result code.
        package func register(_ name: String, on connection: OpaquePointer, context: AnyObject) -> CInt {
            unsafe sqlite3_create_module_v2(
                connection,
                name,
                pointer,
                Unmanaged.passRetained(context).toOpaque(),
                { pointer in
                    guard let pointer = unsafe pointer else { return }
                    unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release()
                }
            )
        }
    }

    /// What an `xConnect` does.
    ///
    /// - Parameters:
    ///   - connection: The `sqlite3 *`.
    ///   - declaration: A `CREATE TABLE` statement.
    ///   - context: What the module was registered with. Kept until ``disconnect(_:)``.
    ///   - table: Gets the address of the table.
    /// - Returns: SQLite's result code.
    package static func connect(
        _ connection: OpaquePointer?,
        declaring declaration: String,
        context: UnsafeMutableRawPointer?,
        _ table: UnsafeMutablePointer<Pointer?>?
    ) -> CInt {
        guard let context = unsafe context, let table = unsafe table else { return SQLITE_INTERNAL }
        let code = unsafe sqlite3_declare_vtab(connection, declaration)
        guard code == SQLITE_OK else { return code }
        let size = unsafe contextOffset + MemoryLayout<UnsafeMutableRawPointer>.stride
        let memory = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: size,
            alignment: MemoryLayout<sqlite3_vtab>.alignment
        )
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        unsafe memory.storeBytes(
            of: Unmanaged<AnyObject>.fromOpaque(context).retain().toOpaque(),
            toByteOffset: contextOffset,
            as: UnsafeMutableRawPointer.self
        )
        unsafe table.pointee = memory.assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }

    /// The context of a table, which has to be of this type.
    @inlinable
    package static func context<Context: AnyObject>(of table: Pointer) -> Unmanaged<Context> {
        unsafe Unmanaged.fromOpaque(
            UnsafeRawPointer(table).load(fromByteOffset: contextOffset, as: UnsafeMutableRawPointer.self)
        )
    }

    /// What an `xDisconnect` does at its end: releases the context and the memory.
    ///
    /// - Returns: SQLite's result code.
    package static func disconnect(_ table: Pointer) -> CInt {
        let context: Unmanaged<AnyObject> = unsafe context(of: table)
        unsafe context.release()
        unsafe sqlite3_free(table.pointee.zErrMsg)
        unsafe UnsafeMutableRawPointer(table).deallocate()
        return SQLITE_OK
    }

    /// Sets the message of the error that a callback is about to return.
    package static func setMessage(_ message: String, of table: Pointer) {
        unsafe sqlite3_free(table.pointee.zErrMsg)
        // SQLite frees the message with `sqlite3_free`.
        let utf8 = Array(message.utf8) + [0]
        guard let copy = unsafe sqlite3_malloc64(UInt64(utf8.count)) else {
            unsafe table.pointee.zErrMsg = nil
            return
        }
        unsafe copy.copyMemory(from: utf8, byteCount: utf8.count)
        unsafe table.pointee.zErrMsg = copy.assumingMemoryBound(to: CChar.self)
    }
}
