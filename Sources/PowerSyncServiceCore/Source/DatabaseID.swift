/// The database that a source or a storage is in: opaque, only compared.
package struct DatabaseID: RawRepresentable, Hashable, Sendable {
    /// The id as text, which begins with the kind of the database.
    package let rawValue: String

    /// Creates an id from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }
}
