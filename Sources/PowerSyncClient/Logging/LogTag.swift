/// The tags of the SDK's own log messages.
enum LogTag {
    /// Opening, closing and statements.
    static let database = "Database"
    /// The schema.
    static let schema = "Schema"
}
