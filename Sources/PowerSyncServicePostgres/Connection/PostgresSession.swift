/// The settings that every connection to a source has, so that values have one form whatever the database or the role say.
package enum PostgresSession {
    /// Names and values.
    ///
    /// They are set by the first statements of each connection, so that what the server, the database, the role and the
    /// connection string (`options`) say does not count.
    ///
    /// `bytea_output` and `DateStyle` decide about forms, `extra_float_digits` about digits, `TimeZone` about offsets;
    /// without `search_path`, names in queries could mean objects of another role.
    package static let settings: [(name: String, value: String)] = [
        ("TimeZone", "UTC"), ("DateStyle", "ISO"), ("IntervalStyle", "postgres"), ("bytea_output", "hex"),
        // All digits, also before version 12, where the default leaves two out.
        ("extra_float_digits", "3"), ("standard_conforming_strings", "on"), ("client_encoding", "UTF8"),
        ("search_path", ""),
    ]
}
