package import PowerSyncProtocol

extension JsonValue {
    /// Creates a value from the protocol's form.
    ///
    /// Duplicate members collapse to the last one.
    package init(_ value: ExactJSON) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = Int(exactly: value).map(JsonValue.int) ?? .double(Double(value))
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let values): self = .array(values.map(JsonValue.init))
        case .object(let object): self = .object(JsonParam(object))
        }
    }
}

extension JsonParam {
    /// Creates members from the protocol's form.
    ///
    /// Of duplicate members the last one counts.
    package init(_ object: JSONObject) {
        self.init(object.members.map { ($0.name, JsonValue($0.value)) }, uniquingKeysWith: { $1 })
    }
}

extension ExactJSON {
    /// Creates the protocol's form of a value, with the members of objects ordered by the bytes of their names.
    package init(_ value: JsonValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .int(let value): self = .integer(Int64(value))
        case .double(let value): self = .double(value)
        case .string(let value): self = .string(value)
        case .array(let values): self = .array(values.map(ExactJSON.init))
        case .object(let members): self = .object(JSONObject(members))
        }
    }
}

extension JSONObject {
    /// Creates the protocol's form of members.
    ///
    /// Members are ordered by the UTF-8 bytes of their names, so that equal dictionaries give equal texts.
    package init(_ members: JsonParam) {
        let names = members.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        self.init(
            members: names.compactMap { name in
                members[name].map { Member(name: name, value: ExactJSON($0)) }
            }
        )
    }
}
