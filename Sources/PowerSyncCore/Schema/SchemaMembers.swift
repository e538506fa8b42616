import PowerSyncProtocol

/// Reads the members of one object, with errors that name the object and the member.
struct SchemaMembers {
    /// What the object describes.
    let path: String
    private let object: JSONObject

    init(_ value: ExactJSON, _ path: String) throws {
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

    subscript(name: String) -> ExactJSON? { object[name] }

    /// The members of an object, `nil` where it is missing or null.
    func optionalObject(_ name: String) throws -> SchemaMembers? {
        switch object[name] {
        case nil, .null: return nil
        case .object(let object): return SchemaMembers(object, "'\(name)' of \(path)")
        default: throw wrongType(name, "an object")
        }
    }

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

    func array(_ name: String, isRequired: Bool = false) throws -> [ExactJSON] {
        switch object[name] {
        case .array(let values): return values
        case nil where !isRequired: return []
        default: throw wrongType(name, "an array")
        }
    }

    /// The texts of an array, `nil` where it is missing or null.
    func optionalStrings(_ name: String) throws -> [String]? {
        switch object[name] {
        case nil, .null: nil
        default:
            try array(name).map { value in
                guard case .string(let text) = value else { throw wrongType(name, "an array of strings") }
                return text
            }
        }
    }

    func wrongType(_ name: String, _ expected: String) -> LocalDatabaseError {
        let problem = object[name] == nil ? "is missing" : "is not \(expected)"
        return .invalidArgument("invalid schema", cause: "member '\(name)' of \(path) \(problem)")
    }
}
