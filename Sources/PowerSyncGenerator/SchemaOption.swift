/// `--schema`: the tables of a source in a file.
package enum SchemaOption {
    /// What the option takes, for the help of commands.
    package static let help = "The tables of the source: a SQLite database, or a file of CREATE TABLE statements."
}
