package import PowerSyncProtocol
import PowerSyncSQLite

/// The JSON form of a client schema (docs/database.md "Client schema"), which `powersync_replace_schema` takes.
///
/// ```json
/// {"tables":[{"name":"lists","columns":[{"name":"name","type":"text"}],"indexes":[],"local_only":false,
///   "insert_only":false,"include_metadata":false,"ignore_empty_update":false}],"raw_tables":[]}
/// ```
///
/// Unknown members are ignored. `view_name`, `include_old` and `include_old_only_when_changed` are written only where
/// they say something, and so are `direct`, `constraints` and `full_text_indexes` of a table, `constraints` and `renamed_from` of a column, which only this
/// implementation knows.
extension ClientSchema {
    /// Reads a schema.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument`, naming the member that is missing or has the wrong
    ///   type. Names are not validated.
    package init(json: String) throws {
        let root: ExactJSON
        do {
            root = try ExactJSON(parsing: json)
        } catch {
            throw LocalDatabaseError.invalidArgument("invalid schema", cause: "\(error)")
        }
        let members = try SchemaMembers(root, "schema")
        tables = try members.array("tables", isRequired: true).map { try ClientTable(SchemaMembers($0, "table")) }
        rawTables = try members.array("raw_tables").map { try ClientRawTable(SchemaMembers($0, "raw table")) }
    }

    /// The JSON form.
    package var json: JSONObject {
        [
            "tables": .array(tables.map { .object($0.json) }),
            "raw_tables": .array(rawTables.map { .object($0.json) }),
        ]
    }
}

extension ClientTable {
    fileprivate init(_ members: SchemaMembers) throws {
        let name = try members.string("name")
        let members = members.named("table '\(name)'")
        self.init(
            name: name,
            viewNameOverride: try members.optionalString("view_name"),
            columns: try members.array("columns", isRequired: true).map { value in
                let column = try SchemaMembers(value, "column of \(members.path)")
                return ClientColumn(
                    name: try column.string("name"),
                    type: try ColumnType(column),
                    constraints: try column.optionalStrings("constraints") ?? [],
                    formerName: try column.optionalString("renamed_from")
                )
            },
            indexes: try members.array("indexes").map {
                try ClientIndex(SchemaMembers($0, "index of \(members.path)"))
            },
            options: try ClientTableOptions(members),
            isDirect: try members.bool("direct"),
            constraints: try members.optionalStrings("constraints") ?? [],
            fullTextIndexes: try members.array("full_text_indexes").map { value in
                let index = try SchemaMembers(value, "full-text index of \(members.path)")
                return FullTextIndex(
                    name: try index.string("name"),
                    columns: try index.optionalStrings("columns") ?? [],
                    tokenizer: try index.optionalString("tokenizer")
                )
            }
        )
    }

    /// The JSON form.
    package var json: JSONObject {
        var json: JSONObject = ["name": .string(name)]
        if let viewNameOverride {
            json["view_name"] = .string(viewNameOverride)
        }
        json["columns"] = .array(columns.map { .object($0.json) })
        json["indexes"] = .array(indexes.map { .object($0.json(in: self)) })
        json.members += options.json.members
        if isDirect { json["direct"] = true }
        if !constraints.isEmpty { json["constraints"] = .array(constraints.map(ExactJSON.string)) }
        if !fullTextIndexes.isEmpty { json["full_text_indexes"] = .array(fullTextIndexes.map { .object($0.json) }) }
        return json
    }
}

extension FullTextIndex {
    fileprivate var json: JSONObject {
        var json: JSONObject = ["name": .string(name), "columns": .array(columns.map(ExactJSON.string))]
        if let tokenizer { json["tokenizer"] = .string(tokenizer) }
        return json
    }
}

extension ClientColumn {
    fileprivate var json: JSONObject {
        var json: JSONObject = ["name": .string(name), "type": .string(type.rawValue)]
        if !constraints.isEmpty { json["constraints"] = .array(constraints.map(ExactJSON.string)) }
        if let formerName { json["renamed_from"] = .string(formerName) }
        return json
    }
}

extension ColumnType {
    /// Reads the type of a column, which becomes a part of SQL as it is.
    fileprivate init(_ column: SchemaMembers) throws {
        let name = try column.string("type")
        guard let type = Self(rawValue: name) else {
            throw LocalDatabaseError.invalidArgument(
                "invalid schema",
                cause: "member 'type' of \(column.path) is '\(name)', and not text, integer or real"
            )
        }
        self = type
    }
}

extension ClientTableOptions {
    /// Reads the options, which are members of the table's object.
    init(_ members: SchemaMembers) throws {
        self.init(
            isLocalOnly: try members.bool("local_only"),
            isInsertOnly: try members.bool("insert_only"),
            tracksMetadata: try members.bool("include_metadata"),
            trackPreviousValues: try Self.previousValues(members),
            ignoresEmptyUpdates: try members.bool("ignore_empty_update")
        )
    }

    private static func previousValues(_ members: SchemaMembers) throws -> PreviousValues? {
        let onlyWhenChanged = try members.bool("include_old_only_when_changed")
        switch members["include_old"] {
        case nil, .null, .bool(false):
            return nil
        case .bool(true):
            return PreviousValues(onlyWhenChanged: onlyWhenChanged)
        case .array(let values):
            let columns = try values.map { value in
                guard case .string(let column) = value else {
                    throw members.wrongType("include_old", "a boolean or an array of strings")
                }
                return column
            }
            return PreviousValues(columns: columns, onlyWhenChanged: onlyWhenChanged)
        default:
            throw members.wrongType("include_old", "a boolean or an array of strings")
        }
    }

    /// The members that say something.
    var json: JSONObject {
        var json: JSONObject = [
            "local_only": .bool(isLocalOnly),
            "insert_only": .bool(isInsertOnly),
            "include_metadata": .bool(tracksMetadata),
            "ignore_empty_update": .bool(ignoresEmptyUpdates),
        ]
        if let trackPreviousValues {
            json["include_old"] = trackPreviousValues.columns.map { .array($0.map(ExactJSON.string)) } ?? true
            json["include_old_only_when_changed"] = .bool(trackPreviousValues.onlyWhenChanged)
        }
        return json
    }
}

extension ClientIndex {
    fileprivate init(_ members: SchemaMembers) throws {
        self.init(
            name: try members.string("name"),
            columns: try members.array("columns", isRequired: true).map { value in
                let column = try SchemaMembers(value, "column of \(members.path)")
                return Column(
                    name: try column.string("name"),
                    isDescending: try !column.requiredBool("ascending"),
                    type: try ColumnType(column)
                )
            }
        )
    }

    fileprivate func json(in table: ClientTable) -> JSONObject {
        [
            "name": .string(name),
            "columns": .array(
                columns.map { column in
                    [
                        "name": .string(column.name),
                        "ascending": .bool(!column.isDescending),
                        "type": .string(table.type(of: column).rawValue),
                    ]
                }
            ),
        ]
    }
}

extension ClientTable {
    /// The type that an index gives to a column: its own, or that of the table's column.
    ///
    /// `id` is text.
    func type(of column: ClientIndex.Column) -> ColumnType {
        if let type = column.type {
            return type
        }
        return columns.first { ExactText($0.name) == ExactText(column.name) }?.type ?? .text
    }
}
