import GRDBSQLite
import PowerSyncSQLite

/// A scalar function written in Swift.
///
/// A function without result returns NULL. Errors become SQLite errors, prefixed with the function's name
/// (docs/database.md "Errors of SQL functions").
struct ScalarFunction: Sendable {
    /// What SQLite may assume about a function.
    struct Options: OptionSet, Sendable {
        let rawValue: Int32

        /// Equal arguments give equal results.
        static let deterministic = Options(rawValue: SQLITE_DETERMINISTIC)
        /// Without effects, and so callable from views and triggers also where the schema is not trusted.
        static let innocuous = Options(rawValue: SQLITE_INNOCUOUS)
        /// Not callable from views and triggers.
        static let directOnly = Options(rawValue: SQLITE_DIRECTONLY)
        /// The result may carry a subtype: `SQLITE_RESULT_SUBTYPE` of SQLite 3.45, ignored by older ones.
        static let resultSubtype = Options(rawValue: 0x100_0000)
    }

    let name: String
    /// The number of arguments, −1 for any.
    let argumentCount: Int32
    var options: Options = []
    let body: @Sendable (FunctionCall) throws -> Void

    /// Registers the function on a connection.
    func register(_ state: ConnectionState) -> Int32 {
        let registration = Registration(function: self, state: state)
        return unsafe sqlite3_create_function_v2(
            state.handle,
            name,
            argumentCount,
            SQLITE_UTF8 | options.rawValue,
            Unmanaged.passRetained(registration).toOpaque(),
            { context, count, arguments in
                guard let pointer = unsafe sqlite3_user_data(context) else { return }
                unsafe Unmanaged<Registration>.fromOpaque(pointer)._withUnsafeGuaranteedRef { registration in
                    let call = unsafe FunctionCall(context, count, arguments, registration.state)
                    do {
                        try registration.function.body(call)
                    } catch {
                        call.fail(registration.function.name, error)
                    }
                }
            },
            nil,
            nil,
            { pointer in
                guard let pointer = unsafe pointer else { return }
                unsafe Unmanaged<Registration>.fromOpaque(pointer).release()
            }
        )
    }

    private final class Registration {
        let function: ScalarFunction
        let state: ConnectionState

        init(function: ScalarFunction, state: ConnectionState) {
            self.function = function
            self.state = state
        }
    }
}

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
