/// Something that must never happen.
package struct Violation: Error, CustomStringConvertible {
    /// What happened, and what should have.
    package let description: String

    init(_ description: String) { self.description = description }
}
