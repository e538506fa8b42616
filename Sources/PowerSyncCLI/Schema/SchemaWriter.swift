import PowerSyncProtocol
import PowerSyncServiceCore

/// Writes schemas.
struct SchemaWriter {
    /// Whether a number or a boolean may be a text: the name of a variable behind `!env`, or digits in quotes.
    var takesVariables: Bool

    /// The schema of a file.
    func document(_ title: String, _ root: SchemaObject) -> JSONObject {
        var members: JSONObject = [
            "$schema": "http://json-schema.org/draft-07/schema#", "title": .string(title),
        ]
        members.members += object(root).members
        return members
    }

    private func object(_ object: SchemaObject) -> JSONObject {
        var properties = JSONObject()
        if let type = object.type { properties["type"] = .object(["const": .string(type)]) }
        for key in object.keys {
            var value = node(key.node)
            value["description"] = .string(key.about)
            properties[key.name] = .object(value)
        }
        var schema: JSONObject = [
            "type": .array(["object", "null"]), "additionalProperties": .bool(object.isOpen),
            "properties": .object(properties),
        ]
        if object.type != nil { schema["required"] = .array(["type"]) }
        return schema
    }

    private func node(_ node: SchemaNode) -> JSONObject {
        switch node {
        case .text: ["type": .array(["string", "number", "boolean", "null"])]
        case .choice(let texts): withVariables(["enum": .array(texts.map { .string($0) } + [.null])], "")
        case .integer(let range):
            withVariables(
                [
                    "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
                    "maximum": .integer(Int64(range.upperBound)),
                ],
                "|[0-9]+"
            )
        case .boolean: withVariables(["type": "boolean"], "|true|false|yes|no|on|off")
        case .list(let item): ["type": .array(["array", "null"]), "items": .object(self.node(item))]
        case .oneOrMore(let item):
            ["anyOf": .array([.object(self.node(item)), .object(self.node(.list(item)))])]
        case .object(let keys): object(keys)
        case .variants(let variants): ["oneOf": .array(variants.map { .object(object($0)) })]
        case .named(let item):
            ["type": .array(["object", "null"]), "additionalProperties": .object(self.node(item))]
        case .anything: [:]
        }
    }

    /// Adds the name of a variable, as it stands behind `!env`, and other texts that are read like the value.
    private func withVariables(_ schema: JSONObject, _ texts: String) -> JSONObject {
        guard takesVariables else { return schema }
        let variable: JSONObject = [
            "type": ["string", "null"], "pattern": .string("^(PS_[A-Za-z0-9_]+(::[a-z]+)?\(texts))$"),
        ]
        return ["anyOf": .array([.object(schema), .object(variable)])]
    }
}
