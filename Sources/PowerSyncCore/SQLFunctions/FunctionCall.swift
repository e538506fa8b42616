import GRDBSQLite
import PowerSyncSQLite

/// One call of a scalar function from SQL.
///
/// Valid until the function returns.
///
/// `@safe`: it does not leave the call that SQLite made, and each index is compared with the number of arguments.
@safe struct FunctionCall {
    private let context: OpaquePointer?
    private let arguments: UnsafeMutablePointer<OpaquePointer?>?

    /// The number of arguments.
    let count: Int
    /// The connection's state.
    let state: ConnectionState

    init(
        _ context: OpaquePointer?,
        _ count: Int32,
        _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
        _ state: ConnectionState
    ) {
        unsafe self.context = context
        self.count = Int(count)
        unsafe self.arguments = arguments
        self.state = state
    }

    /// An argument.
    ///
    /// SQLite has checked the number of arguments of functions that fix it.
    subscript(index: Int) -> SQLArgument {
        precondition(index < count, "argument \(index) of a function with \(count)")
        return unsafe SQLArgument(arguments?[index])
    }

    /// The arguments from an index on.
    ///
    /// SQLite has checked the number of arguments of functions that fix it; of others, there may be fewer.
    func arguments(from index: Int) -> SQLArguments {
        unsafe SQLArguments(values: arguments.map { unsafe $0 + min(index, count) }, count: max(count - index, 0))
    }

    /// Returns text.
    func result(_ bytes: UnsafeRawBufferPointer, subtype: UInt32 = 0) {
        unsafe sqlite3_result_text64(
            context,
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            UInt64(bytes.count),
            BoundBytes.copied.destructor,
            UInt8(SQLITE_UTF8)
        )
        if subtype != 0 {
            unsafe sqlite3_result_subtype(context, subtype)
        }
    }

    /// Returns text.
    func result(_ text: String) {
        var text = text
        text.withUTF8 { unsafe result(UnsafeRawBufferPointer($0)) }
    }

    /// Returns an integer.
    func result(_ integer: Int64) {
        unsafe sqlite3_result_int64(context, integer)
    }

    /// Ends the call with an error, prefixed with the function's name unless it is about a value.
    func fail(_ name: String, _ error: any Error) {
        let (code, message) = SQLiteFailureDescription.describe(error)
        // A refused value is a mistake of the app's statement, which knows nothing of our functions.
        unsafe sqlite3_result_error(context, error is ColumnRefusal ? message : "\(name): \(message)", -1)
        unsafe sqlite3_result_error_code(context, code)
    }
}
