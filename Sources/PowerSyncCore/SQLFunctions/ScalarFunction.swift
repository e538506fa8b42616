import GRDBSQLite

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
