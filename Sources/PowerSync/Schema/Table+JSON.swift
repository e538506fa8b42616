extension Table: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name
        case viewName = "view_name"
        case columns
        case indexes
    }

    private enum IndexKeys: String, CodingKey {
        case name, columns
    }

    private enum IndexedColumnKeys: String, CodingKey {
        case name, ascending, type
    }

    /// Encodes the JSON form, as a member of `tables`.
    ///
    /// `view_name` is there only when overridden, `include_old` and `include_old_only_when_changed` only when previous
    /// values are tracked.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an index over an unknown column.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(viewNameOverride, forKey: .viewName)
        try container.encode(columns, forKey: .columns)
        var indexList = container.nestedUnkeyedContainer(forKey: .indexes)
        for index in indexes {
            var indexObject = indexList.nestedContainer(keyedBy: IndexKeys.self)
            try indexObject.encode(index.name, forKey: .name)
            var columnList = indexObject.nestedUnkeyedContainer(forKey: .columns)
            for column in index.columns {
                var columnObject = columnList.nestedContainer(keyedBy: IndexedColumnKeys.self)
                try columnObject.encode(column.column, forKey: .name)
                try columnObject.encode(column.ascending, forKey: .ascending)
                try columnObject.encode(try type(of: column, in: index), forKey: .type)
            }
        }
        try options.encodeMembers(to: encoder)
    }

    /// The type of an indexed column.
    ///
    /// The implicit `id` is text.
    func type(of column: any IndexedColumnProtocol, in index: Index) throws -> ColumnData {
        if let declared = columns.first(where: { $0.name.utf8.elementsEqual(column.column.utf8) }) {
            return declared.type
        }
        guard column.column == "id" else {
            throw PowerSyncError.operationFailed(
                message: "Index \(index.name) of table \(name) uses the column \(column.column), which is not declared"
            )
        }
        return .text
    }
}

extension TableOptions {
    private enum CodingKeys: String, CodingKey {
        case localOnly = "local_only"
        case insertOnly = "insert_only"
        case includeMetadata = "include_metadata"
        case includeOld = "include_old"
        case includeOldOnlyWhenChanged = "include_old_only_when_changed"
        case ignoreEmptyUpdate = "ignore_empty_update"
    }

    /// Encodes the options as members of the table's object.
    func encodeMembers(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(localOnly, forKey: .localOnly)
        try container.encode(insertOnly, forKey: .insertOnly)
        try container.encode(trackMetadata, forKey: .includeMetadata)
        try container.encode(ignoreEmptyUpdates, forKey: .ignoreEmptyUpdate)
        if let trackPreviousValues {
            if let columnFilter = trackPreviousValues.columnFilter {
                try container.encode(columnFilter, forKey: .includeOld)
            } else {
                try container.encode(true, forKey: .includeOld)
            }
            try container.encode(trackPreviousValues.onlyWhenChanged, forKey: .includeOldOnlyWhenChanged)
        }
    }
}
