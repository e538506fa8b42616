/// Some of the values that SQLite passes to a function.
///
/// Valid during that call only.
///
/// `@safe`: it does not leave the call that SQLite made, and each index is compared with the number of values.
@safe struct SQLArguments {
    private let values: UnsafeMutablePointer<OpaquePointer?>?
    /// The number of values.
    let count: Int

    /// Values that follow each other.
    init(values: UnsafeMutablePointer<OpaquePointer?>?, count: Int) {
        unsafe self.values = values
        self.count = count
    }

    /// A value.
    subscript(index: Int) -> SQLArgument {
        precondition(index >= 0 && index < count, "value \(index) of \(count)")
        return unsafe SQLArgument(values?[index])
    }
}
