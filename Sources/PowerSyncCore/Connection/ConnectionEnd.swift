import GRDBSQLite
import PowerSyncSQLite

/// Has the statements of ours finalised when a connection closes.
///
/// SQLite refuses to close a connection that has statements, and tells nobody beforehand; but it disconnects virtual tables
/// before it looks. `powersync_connection_end` is one that nothing reads or writes, so no statement keeps it connected.
/// It has no content and cannot be opened. Its context is the ``ConnectionState``.
enum ConnectionEnd {
    private static let name = "powersync_connection_end"

    /// Registers the table on a connection.
    static func register(_ state: ConnectionState) -> Int32 {
        module.register(name, on: state.handle, context: state)
    }

    /// Connects the table: only those are disconnected that a statement has named.
    static func announce(of handle: OpaquePointer) {
        _ = try? PreparedStatement(preparing: "SELECT 1 FROM \(name)", on: handle)
    }

    private static let module = VirtualTable.Module { module in
        module.xConnect = { handle, state, _, _, table, _ in
            VirtualTable.connect(handle, declaring: "CREATE TABLE \(ConnectionEnd.name)(x)", context: state, table)
        }
        module.xDisconnect = { table in
            guard let table else { return SQLITE_OK }
            let state: Unmanaged<ConnectionState> = VirtualTable.context(of: table)
            state._withUnsafeGuaranteedRef { $0.closeStatements() }
            return VirtualTable.disconnect(table)
        }
    }
}
