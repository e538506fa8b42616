package import PowerSyncSyncConfig

/// The tables of a source, read from its catalogue without replicating it.
package struct SourceTables: Sendable {
    /// The tables with their declarations, by schema and name.
    package var tables: [DeclaredTable]
    /// What sync configs are checked against.
    package var schema: SourceSchema
    /// What has the tables, at the beginning of a sentence: `The embedded source data/source.db`.
    package var owner: String
    /// What to do about a table that is not there: a sentence.
    package var remedy: String
    /// What keeps rows from being synced that a plan reads, each with the table in its place.
    package var findings: [Finding]

    /// Creates a description.
    package init(
        tables: [DeclaredTable],
        schema: SourceSchema,
        owner: String,
        remedy: String,
        findings: [Finding] = []
    ) {
        self.tables = tables
        self.schema = schema
        self.owner = owner
        self.remedy = remedy
        self.findings = findings
    }
}

/// Why a source cannot be read.
package struct SourceUnreadable: Error, CustomStringConvertible {
    /// One or more sentences that name the source, without secrets, and say what to do.
    package let description: String
    /// Whether it is a server that has not answered as it should, and no file.
    package let isServer: Bool

    /// Creates an error.
    package init(_ description: String, isServer: Bool) {
        self.description = description
        self.isServer = isServer
    }
}
