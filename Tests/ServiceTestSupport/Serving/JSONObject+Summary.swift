package import PowerSyncProtocol

extension JSONObject {
    /// The string at a path of member names.
    package func text(_ path: String...) -> String? {
        var value = ExactJSON.object(self)
        for name in path {
            guard case .object(let object) = value, let member = object[name] else { return nil }
            value = member
        }
        return if case .string(let text) = value { text } else { value.text }
    }

    /// The objects in an array.
    package func objects(_ name: String) -> [JSONObject] {
        guard case .array(let values) = self[name] else { return [] }
        return values.compactMap { if case .object(let object) = $0 { object } else { nil } }
    }

    /// The object of a name; an empty one when there is none.
    package func object(_ name: String) -> JSONObject {
        if case .object(let object) = self[name] { object } else { JSONObject() }
    }

    /// A sync line in short form:
    /// `checkpoint 5 write 1: 1#lists|0["u1"] ×2 p1`, `diff 6: +… -…`, `data 1#lists|0["u1"] 0…2 ×2`, `partial 1`,
    /// `complete 5`, `keepalive`.
    package var summary: String {
        guard members.count == 1, let kind = members.first?.name else { return "malformed: \(text)" }
        let content = object(kind)
        let write = content.text("write_checkpoint").map { " write \($0)" } ?? ""
        func buckets(_ name: String) -> String {
            content.objects(name).map {
                "\($0.text("bucket") ?? "?") ×\($0.text("count") ?? "?") p\($0.text("priority") ?? "?")"
            }
            .joined(separator: ", ")
        }
        switch kind {
        case "checkpoint": return "checkpoint \(content.text("last_op_id") ?? "?")\(write): \(buckets("buckets"))"
        case "checkpoint_diff":
            let removed = content["removed_buckets"]?.text ?? "?"
            return "diff \(content.text("last_op_id") ?? "?")\(write): \(buckets("updated_buckets")) -\(removed)"
        case "data":
            let more = content.text("has_more") == "true" ? " more" : ""
            return
                "data \(content.text("bucket") ?? "?") \(content.text("after") ?? "?")…\(content.text("next_after") ?? "?")"
                + " ×\(content.objects("data").count)\(more)"
        case "partial_checkpoint_complete": return "partial \(content.text("priority") ?? "?")"
        case "checkpoint_complete": return "complete \(content.text("last_op_id") ?? "?")"
        case "token_expires_in": return "keepalive"
        default: return "unknown: \(kind)"
        }
    }
}
