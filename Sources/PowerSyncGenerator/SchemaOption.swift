/// `--schema`: the tables of a source in files.
package enum SchemaOption {
    /// What the option takes, for the help of commands.
    package static let help = """
        The tables of the source: a SQLite database, or a file or folder of statements of PostgreSQL, MySQL or SQLite, such as migrations.
        """
}
