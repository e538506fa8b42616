/// Carries a value from a database thread to the task that asked for it.
///
/// `@unchecked Sendable`: results of callbacks need not be `Sendable` (apps return `Any?` and tuples). A value is wrapped
/// where the callback returns it, on the database thread, and unwrapped once by the waiting task; the database thread
/// keeps no reference.
struct Transfer<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
