import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// What no database can be made to follow, or only by losing something.
extension ClientSchema {
    /// Checks that views can read every column.
    ///
    /// The JSON paths of older versions of SQLite cannot name a member with a quote, a backslash or a control character: such a
    /// column would be NULL whatever is written to it.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument`, which names the column; GRDB's `DatabaseError`.
    func checkPaths(_ db: Database) throws {
        for table in views {
            for column in table.columns where column.name.utf8.contains(where: Self.isEscapedInJSON) {
                // SQL text ends there; what is put together with the name says so.
                if column.name.utf8.contains(0) { continue }
                let row: JSONObject = [column.name: 1]
                let value = try? Int.fetchOne(
                    db,
                    sql: "SELECT json_extract(?, ?)",
                    arguments: [row.text, ViewDefinition.path(of: column.name)]
                )
                guard value != 1 else { continue }
                throw LocalDatabaseError.invalidArgument(
                    """
                    this version of SQLite cannot read the column '\(column.name)' of table '\(table.name)': give it a name without \
                    quotes, backslashes and control characters
                    """
                )
            }
        }
    }

    private static func isEscapedInJSON(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Checks the schema before anything is changed.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument` when a table has more columns than a query may have, two of its
    ///   columns are one for SQLite, or two objects have one name.
    func check() throws {
        for table in tables {
            try table.checkColumnCount()
            try table.checkColumnNames()
            if table.isDirect { try table.checkDirect() }
            for index in table.fullTextIndexes {
                let problem = FullTextIndex.problem(
                    ofColumns: index.columns,
                    ofIndex: index.name,
                    table: table.viewName
                )
                if let problem { throw LocalDatabaseError.invalidArgument(problem) }
            }
        }
        try checkObjectNames()
    }

    /// Views, tables and indexes share their names.
    ///
    /// Of two views one would take the place of the other, and the other way round the next time.
    private func checkObjectNames() throws {
        var objects: [ExactText: (kind: String, table: ClientTable)] = [:]
        for table in tables {
            let names =
                (table.isDirect ? [] : [("view", table.viewName)])
                + [(table.isDirect ? "direct table" : "data table", table.internalName)]
                + table.indexes.map { ("index", $0.nameOnDisk(in: table)) }
                + table.fullTextIndexes.flatMap { index in
                    index.namesOnDisk(in: table).map { ("full-text index", $0) }
                }
            for (kind, name) in names {
                let key = ExactText(ignoringCaseOf: name)
                guard let other = objects.updateValue((kind, table), forKey: key) else { continue }
                // SQLite says so of a table that is there twice.
                let isSame = ExactText(other.table.internalName) == ExactText(table.internalName)
                if !kind.hasSuffix("index"), !table.isDirect, isSame { continue }
                throw LocalDatabaseError.invalidArgument(
                    "tables '\(other.table.name)' and '\(table.name)' have the same name '\(name)' (\(other.kind), \(kind))"
                )
            }
        }
    }
}

extension ClientTable {
    /// A query has at most 2,000 columns: the id is one, and metadata are two.
    fileprivate func checkColumnCount() throws {
        let limit = tracksMetadata ? 1997 : 1999
        guard columns.count > limit else { return }
        throw LocalDatabaseError.invalidArgument("table '\(name)' has more than \(limit) columns")
    }

    /// A direct table is read and written by its name, which is that of no table of the system.
    fileprivate func checkDirect() throws {
        if let viewNameOverride, ExactText(viewNameOverride) != ExactText(name) {
            throw LocalDatabaseError.invalidArgument(
                "the direct table '\(name)' cannot have another view name, '\(viewNameOverride)': it is a table and has no view"
            )
        }
        let name = ExactText(ignoringCaseOf: name).text
        guard !["ps_", "powersync_"].contains(where: { name.utf8.starts(with: $0.utf8) }) else {
            throw LocalDatabaseError.invalidArgument(
                "the direct table '\(self.name)' cannot have a name that begins with ps_ or powersync_"
            )
        }
        guard !columns.contains(where: { ExactText(ignoringCaseOf: $0.name) == ExactText("id") }) else {
            throw LocalDatabaseError.invalidArgument(
                "the direct table '\(self.name)' declares a column 'id', which every table has anyway"
            )
        }
    }

    /// Of two columns that are one for SQLite, triggers would read one for both, and lose what is written to the other.
    ///
    /// Columns that are spelt the same lose nothing, since they are the same member of a row. Nor does a column `ID` of a source whose
    /// key it is: its value is the id.
    fileprivate func checkColumnNames() throws {
        var spellings: [ExactText: String] = [:]
        for column in columns {
            let key = ExactText(ignoringCaseOf: column.name)
            if tracksMetadata, Self.metadataColumns.contains(key.text) {
                throw LocalDatabaseError.invalidArgument(
                    "table '\(name)' tracks metadata, for which it has a column '\(key.text)' besides its own '\(column.name)'"
                )
            }
            guard let other = spellings.updateValue(column.name, forKey: key) else { continue }
            guard ExactText(other) != ExactText(column.name) else { continue }
            throw LocalDatabaseError.invalidArgument(
                "columns '\(other)' and '\(column.name)' of table '\(name)' are the same for SQLite, which ignores case"
            )
        }
    }
}
