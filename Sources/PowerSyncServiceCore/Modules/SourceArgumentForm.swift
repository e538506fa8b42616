/// How `--source` of a command names a source of some kind, for help and messages.
package struct SourceArgumentForm: Sendable {
    /// The kind with its article: `a SQLite file`.
    package var kind: String
    /// What the argument looks like: `postgresql://user@host:5432/database`, or the same as ``kind`` for a file.
    package var form: String
    /// An argument as examples show it: `app.db`.
    package var example: String
    /// The assignment of a variable before the command in examples: `PGPASSWORD=…`; `nil` without one.
    package var exampleVariable: String?
    /// Where a password comes from that is not in the argument: `PGPASSWORD or ~/.pgpass`; `nil` for a source without passwords.
    package var passwordPlaces: String?

    /// What addresses of the kind begin with, before `://` and in lower case; empty for a source that is no address, or has another form.
    package var schemes: [String]

    /// Creates a description.
    package init(
        kind: String,
        form: String,
        example: String,
        exampleVariable: String? = nil,
        passwordPlaces: String? = nil,
        schemes: [String] = []
    ) {
        self.kind = kind
        self.form = form
        self.example = example
        self.exampleVariable = exampleVariable
        self.passwordPlaces = passwordPlaces
        self.schemes = schemes
    }
}
