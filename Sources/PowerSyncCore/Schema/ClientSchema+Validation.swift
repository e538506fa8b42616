extension ClientSchema {
    /// Checks names, options and limits.
    ///
    /// Raw tables take part with the names of their local tables, if they have a structure.
    ///
    /// - Throws: ``ClientSchemaError`` for the first mistake, in the order of tables, and inside a table as
    ///   ``ClientTable/validate()``.
    package func validate() throws(ClientSchemaError) {
        var tableNames = Set<FoldedName>()
        var viewNames = Set<FoldedName>()
        for table in tables {
            guard tableNames.insert(FoldedName(table.name)).inserted else {
                throw .duplicateTable(table.name)
            }
            try table.validate()
            guard viewNames.insert(FoldedName(table.viewName)).inserted else {
                throw .duplicateView(table.viewName)
            }
        }
        for table in rawTables {
            guard let structure = table.structure else { continue }
            guard tableNames.insert(FoldedName(structure.tableName)).inserted else {
                throw .duplicateTable(structure.tableName)
            }
            guard viewNames.insert(FoldedName(structure.tableName)).inserted else {
                throw .duplicateView(structure.tableName)
            }
            try structure.options.validate(table: table.name)
        }
    }
}

extension ClientTable {
    /// The most columns that a table can have: SQLite's limit of 2,000 for a result, less `id`, and less `_metadata` and
    /// `_deleted` if the view has them.
    package var maximumColumnCount: Int {
        tracksMetadata ? 1997 : 1999
    }

    /// Checks names, options and limits.
    ///
    /// - Throws: ``ClientSchemaError`` for the first mistake: in the number of columns, names, options, columns, indexes.
    package func validate() throws(ClientSchemaError) {
        guard columns.count <= maximumColumnCount else {
            throw .tooManyColumns(table: name, count: columns.count, limit: maximumColumnCount)
        }
        guard name.isAllowedInSchema else { throw .invalidTableName(name) }
        if let viewNameOverride, !viewNameOverride.isAllowedInSchema {
            throw .invalidViewName(table: name, view: viewNameOverride)
        }
        try options.validate(table: name)
        try validateColumns()
        try validateIndexes()
    }

    private func validateColumns() throws(ClientSchemaError) {
        let id = FoldedName("id")
        let reserved = tracksMetadata ? [FoldedName("_metadata"), FoldedName("_deleted")] : []
        var names = Set<FoldedName>()
        for column in columns {
            let folded = FoldedName(column.name)
            guard folded != id else { throw .customIDColumn(table: name) }
            guard names.insert(folded).inserted else { throw .duplicateColumn(table: name, column: column.name) }
            guard column.name.isAllowedInSchema else { throw .invalidColumnName(table: name, column: column.name) }
            guard !reserved.contains(folded) else { throw .reservedColumn(table: name, column: column.name) }
        }
    }

    private func validateIndexes() throws(ClientSchemaError) {
        let known = Set((["id"] + columns.map(\.name)).map(ExactText.init))
        var names = Set<FoldedName>()
        for index in indexes {
            guard names.insert(FoldedName(index.name)).inserted else {
                throw .duplicateIndex(table: name, index: index.name)
            }
            guard index.name.isAllowedInSchema else { throw .invalidIndexName(table: name, index: index.name) }
            for column in index.columns where !known.contains(ExactText(column.name)) {
                throw .columnNotFound(table: name, column: column.name, index: index.name)
            }
        }
    }
}

extension ClientTableOptions {
    fileprivate func validate(table name: String) throws(ClientSchemaError) {
        guard isLocalOnly else { return }
        guard trackPreviousValues == nil else { throw .previousValuesForLocalTable(name) }
        guard !tracksMetadata else { throw .metadataForLocalTable(name) }
    }
}

/// A name as SQLite compares it: ASCII letters without case, everything else by its bytes.
private struct FoldedName: Hashable {
    private let bytes: [UInt8]

    init(_ name: String) {
        bytes = name.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}

extension String {
    /// The characters of `["'%,.#\s\[\]]`, and NUL, which SQL text cannot hold.
    fileprivate var isAllowedInSchema: Bool {
        !isEmpty
            && !unicodeScalars.contains { scalar in
                switch scalar {
                case "\"", "'", "%", ",", ".", "#", "[", "]", "\0": true
                default: scalar.properties.isWhitespace
                }
            }
    }
}
