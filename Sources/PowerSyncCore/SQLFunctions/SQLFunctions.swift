package import GRDB
import GRDBSQLite
import PowerSyncProtocol
import PowerSyncSQLite

/// The SQL functions and virtual tables that stored triggers, views and down migrations refer to
/// (docs/database.md "SQL functions").
///
/// Their names are part of the file format. They need to be on *every* connection that writes or alters tables, readers
/// of a pool included; views can be read without them.
package enum SQLFunctions {
    /// Registers everything on a connection of GRDB.
    ///
    /// Call it in GRDB's `Configuration.prepareDatabase`, before any statement.
    ///
    /// Does nothing on a connection that has the functions. Does not read the file.
    ///
    /// - Throws: GRDB's `DatabaseError` when SQLite refuses a registration.
    package static func install(on db: Database) throws {
        guard let handle = unsafe db.sqliteConnection else {
            throw LocalDatabaseError.invalidState("the connection is closed")
        }
        try unsafe install(on: handle)
        unsafe ConnectionState.find(handle)?.attach(db)
    }

    /// Registers everything on a connection that another library has opened.
    ///
    /// What triggers, views and down migrations need works there, and so do the functions that only compute or read.
    /// Functions that do more (`powersync_init`, `powersync_clear`, …) need a connection of GRDB.
    ///
    /// - Throws: GRDB's `DatabaseError` when SQLite refuses a registration.
    package static func install(on handle: OpaquePointer) throws {
        guard unsafe ConnectionState.find(handle) == nil else { return }
        let state = unsafe ConnectionState(handle: handle)
        // Allows views and triggers to call functions. It is SQLite's own default, but not of every build.
        var code = unsafe sqlite3_exec(handle, "PRAGMA trusted_schema = ON", nil, nil, nil)
        if code == SQLITE_OK { code = unsafe registerStripSubtype(handle) }
        for function in all where code == SQLITE_OK {
            code = function.register(state)
        }
        for kind in QueueModule.Kind.allCases where code == SQLITE_OK {
            code = QueueModule.register(kind, state)
        }
        guard code == SQLITE_OK else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: unsafe "registering PowerSync's SQL functions: \(String(cString: sqlite3_errmsg(handle)))"
            )
        }
    }

    /// Whether a connection has the functions.
    package static func areInstalled(on db: Database) -> Bool {
        unsafe db.sqliteConnection.flatMap(ConnectionState.find) != nil
    }

    private static let all =
        jsonFunctions + rowFunctions + identityFunctions + administrationFunctions + statusFunctions + rawTableFunctions

    /// `powersync_strip_subtype(x)`: x, no longer marked as JSON, for an argument of `json_object`.
    ///
    /// Without it, a text that a JSON function made would become an object inside of another. On every version of SQLite it
    /// also keeps `json_object` from what it does with other values than texts and integers: a real becomes the text of exactly
    /// this number, marked as JSON; what JSON cannot hold is refused.
    ///
    /// Called for every column of every write to a raw table, hence without the wrapping of ``ScalarFunction``.
    private static func registerStripSubtype(_ handle: OpaquePointer) -> Int32 {
        let options: ScalarFunction.Options = [.deterministic, .innocuous, .resultSubtype]
        return unsafe sqlite3_create_function_v2(
            handle,
            "powersync_strip_subtype",
            1,
            SQLITE_UTF8 | options.rawValue,
            nil,
            { context, _, arguments in
                switch unsafe SQLArgument(arguments?[0]).storageClass {
                case .real(let value) where value.isFinite:
                    let text = JSONText.number(value)
                    unsafe sqlite3_result_text(context, text, -1, BoundBytes.copied.destructor)
                    unsafe sqlite3_result_subtype(context, SQLArgument.jsonSubtype)
                case .real:
                    unsafe sqlite3_result_error(context, "JSON cannot hold infinite numbers", -1)
                case .blob:
                    unsafe sqlite3_result_error(context, "JSON cannot hold BLOB values", -1)
                case .null, .integer, .text:
                    unsafe sqlite3_result_value(context, arguments?[0])
                    unsafe sqlite3_result_subtype(context, 0)
                }
            },
            nil,
            nil,
            nil
        )
    }
}
