package import PowerSyncProtocol

/// The JSON form of a client schema (`database.md` 9.1), which `powersync_replace_schema` takes.
///
/// ```json
/// {"tables":[{"name":"lists","columns":[{"name":"name","type":"text"}],"indexes":[],"local_only":false,
///   "insert_only":false,"include_metadata":false,"ignore_empty_update":false}],"raw_tables":[]}
/// ```
///
/// Unknown members are ignored. `view_name`, `include_old` and `include_old_only_when_changed` are written only where
/// they say something.
extension ClientSchema {
    /// Reads a schema.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument`, naming the member that is missing or has the wrong
    ///   type. Names are not validated.
    package init(json: String) throws {
        let root: JSONValue
        do {
            root = try JSONValue(parsing: json)
        } catch {
            throw LocalDatabaseError.invalidArgument("invalid schema", cause: "\(error)")
        }
        let members = try SchemaMembers(root, "schema")
        // Without them rows would go to ps_untyped, and the application's tables would stay empty without a word.
        guard try members.array("raw_tables").isEmpty else {
            throw LocalDatabaseError.invalidArgument("invalid schema", cause: "raw tables are not supported yet")
        }
        tables = try members.array("tables", isRequired: true).map { try ClientTable(SchemaMembers($0, "table")) }
    }

    /// The JSON form.
    package var json: JSONObject {
        ["tables": .array(tables.map { .object($0.json) }), "raw_tables": []]
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
                    type: ColumnType(rawValue: try column.string("type"))
                )
            },
            indexes: try members.array("indexes").map {
                try ClientIndex(SchemaMembers($0, "index of \(members.path)"))
            },
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

    fileprivate var json: JSONObject {
        var json: JSONObject = ["name": .string(name)]
        if let viewNameOverride {
            json["view_name"] = .string(viewNameOverride)
        }
        json["columns"] = .array(columns.map { ["name": .string($0.name), "type": .string($0.type.rawValue)] })
        json["indexes"] = .array(indexes.map { .object($0.json(in: self)) })
        json["local_only"] = .bool(isLocalOnly)
        json["insert_only"] = .bool(isInsertOnly)
        json["include_metadata"] = .bool(tracksMetadata)
        json["ignore_empty_update"] = .bool(ignoresEmptyUpdates)
        if let trackPreviousValues {
            json["include_old"] = trackPreviousValues.columns.map { .array($0.map(JSONValue.string)) } ?? true
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
                    type: ColumnType(rawValue: try column.string("type"))
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

/// Reads the members of one object, with errors that name the object and the member.
private struct SchemaMembers {
    /// What the object describes.
    let path: String
    private let object: JSONObject

    init(_ value: JSONValue, _ path: String) throws {
        guard case .object(let object) = value else {
            throw LocalDatabaseError.invalidArgument("invalid schema", cause: "\(path) is not an object")
        }
        self.object = object
        self.path = path
    }

    private init(_ object: JSONObject, _ path: String) {
        self.object = object
        self.path = path
    }

    func named(_ path: String) -> SchemaMembers {
        SchemaMembers(object, path)
    }

    subscript(name: String) -> JSONValue? { object[name] }

    func string(_ name: String) throws -> String {
        guard case .string(let text)? = object[name] else { throw wrongType(name, "a string") }
        return text
    }

    func optionalString(_ name: String) throws -> String? {
        switch object[name] {
        case nil, .null: return nil
        default: return try string(name)
        }
    }

    func bool(_ name: String) throws -> Bool {
        try object[name] == nil ? false : requiredBool(name)
    }

    func requiredBool(_ name: String) throws -> Bool {
        guard case .bool(let value)? = object[name] else { throw wrongType(name, "a boolean") }
        return value
    }

    func array(_ name: String, isRequired: Bool = false) throws -> [JSONValue] {
        switch object[name] {
        case .array(let values): return values
        case nil where !isRequired: return []
        default: throw wrongType(name, "an array")
        }
    }

    func wrongType(_ name: String, _ expected: String) -> LocalDatabaseError {
        let problem = object[name] == nil ? "is missing" : "is not \(expected)"
        return .invalidArgument("invalid schema", cause: "member '\(name)' of \(path) \(problem)")
    }
}
