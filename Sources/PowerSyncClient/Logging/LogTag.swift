/// The tags of the SDK's own log messages.
package enum LogTag {
    /// Opening, closing and statements.
    package static let database = "Database"
    /// The schema.
    package static let schema = "Schema"
}
