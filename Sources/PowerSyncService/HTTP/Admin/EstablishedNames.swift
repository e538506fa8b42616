/// Names that the established admin API has for every source, whatever its database is.
package enum EstablishedName {
    /// Where the source is, without secrets.
    package static let sourceURI = "postgres_uri"
    /// The type that clients get of a column.
    static let clientType = "sqlite_type"
    /// The type of a column in the words of the source, in a list of names for the same.
    static let sourceType = "pg_type"
}
