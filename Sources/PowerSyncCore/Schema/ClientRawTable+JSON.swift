package import PowerSyncProtocol

/// The JSON form of a raw table (docs/database.md "Raw tables").
///
/// ```json
/// {"name":"todos","table_name":"local_todos","synced_columns":["title"],"local_only":false,"insert_only":false,
///   "include_metadata":false,"ignore_empty_update":false,
///   "put":{"sql":"INSERT OR REPLACE INTO local_todos VALUES (?, ?, ?)","params":["Id",{"Column":"title"},"Rest"]},
///   "delete":{"sql":"DELETE FROM local_todos WHERE id = ?","params":["Id"]},"clear":"DELETE FROM local_todos"}
/// ```
///
/// Only `name` is required. Without `table_name` there is no structure, and columns and options say nothing.
extension ClientRawTable {
    /// Reads the definition of one table.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `invalidArgument`, naming the member that is missing or has the wrong
    ///   type.
    package init(json: String) throws {
        let root: ExactJSON
        do {
            root = try ExactJSON(parsing: json)
        } catch {
            throw LocalDatabaseError.invalidArgument("invalid raw table", cause: "\(error)")
        }
        try self.init(SchemaMembers(root, "raw table"))
    }

    init(_ members: SchemaMembers) throws {
        let name = try members.string("name")
        let members = members.named("raw table '\(name)'")
        self.init(
            name: name,
            structure: try members.optionalString("table_name").map { tableName in
                Structure(
                    tableName: tableName,
                    syncedColumns: try members.optionalStrings("synced_columns"),
                    options: try ClientTableOptions(members)
                )
            },
            put: try members.optionalObject("put").map(Statement.init),
            delete: try members.optionalObject("delete").map(Statement.init),
            clear: try members.optionalString("clear")
        )
    }

    /// The JSON form.
    package var json: JSONObject {
        var json: JSONObject = ["name": .string(name)]
        if let structure {
            json["table_name"] = .string(structure.tableName)
            if let columns = structure.syncedColumns {
                json["synced_columns"] = .array(columns.map(ExactJSON.string))
            }
            json.members += structure.options.json.members
        }
        if let put {
            json["put"] = .object(put.json)
        }
        if let delete {
            json["delete"] = .object(delete.json)
        }
        if let clear {
            json["clear"] = .string(clear)
        }
        return json
    }
}

extension ClientRawTable.Statement {
    fileprivate init(_ members: SchemaMembers) throws {
        self.init(
            sql: try members.string("sql"),
            parameters: try members.array("params", isRequired: true).map { value in
                guard let parameter = ClientRawTable.Parameter(value) else {
                    throw members.wrongType("params", #"an array of "Id", {"Column": <name>} and "Rest""#)
                }
                return parameter
            }
        )
    }

    /// The JSON form.
    package var json: JSONObject {
        ["sql": .string(sql), "params": .array(parameters.map(\.json))]
    }
}

extension ClientRawTable.Parameter {
    fileprivate init?(_ value: ExactJSON) {
        switch value {
        case .string("Id"):
            self = .id
        case .string("Rest"):
            self = .rest
        case .object(let object):
            guard object.members.count == 1, case .string(let column)? = object["Column"] else { return nil }
            self = .column(column)
        default:
            return nil
        }
    }

    /// The JSON form: `"Id"`, `{"Column":<name>}` or `"Rest"`.
    package var json: ExactJSON {
        switch self {
        case .id: "Id"
        case .column(let name): ["Column": .string(name)]
        case .rest: "Rest"
        }
    }
}
