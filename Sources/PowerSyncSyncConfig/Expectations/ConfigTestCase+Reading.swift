import PowerSyncProtocol

extension ConfigTestCase {
    private static let keys = [
        "name", "as", "connection", "subscriptions", "includeDefaults", "buckets", "receives", "never", "error",
    ]

    /// Reads a case.
    ///
    /// - Parameters:
    ///   - node: The case.
    ///   - number: Its position, starting from 1, for the name.
    init(_ node: JSONNode, number: Int) {
        name = "case \(number)"
        request = .failure(Refusal(code: nil, problems: ["A case must be a map with “as”."]))
        guard case .object(let members) = node else { return }
        for member in members where !Self.keys.contains(member.name) {
            let hint = NearName.hint(for: member.name, among: Self.keys).map { " \($0)" } ?? ""
            problems.append("Unknown key “\(member.name)” of a case.\(hint)")
        }
        if let text = node["name"]?.idText { name = text }
        error = node["error"]?.idText
        request = Self.request(node)
        if let expected = node["buckets"] { readBuckets(expected) }
        if let expected = node["receives"] { readReceives(expected) }
        if let forbidden = node["never"] { readNever(forbidden) }
    }

    /// The request, checked as the service checks it.
    private static func request(_ node: JSONNode) -> Result<SyncPlanRequest, Refusal> {
        let claims: JSONObject
        switch node["as"] {
        case .string(let user): claims = ["sub": .string(user)]
        case let claim?:
            guard case .object(let object) = ExactJSON(claim) else { fallthrough }
            claims = object
        case nil:
            return .failure(Refusal(code: nil, problems: ["“as” must be the claims of a token, or a user id."]))
        }
        var subscriptions = node["subscriptions"].map(ExactJSON.init) ?? []
        if case .null = subscriptions { subscriptions = [] }
        if case .array(let elements) = subscriptions {
            subscriptions = .array(elements.map(Self.subscription))
        }
        let body: ExactJSON = [
            "parameters": node["connection"].map(ExactJSON.init) ?? .null,
            "streams": [
                "include_defaults": node["includeDefaults"].map(ExactJSON.init) ?? true,
                "subscriptions": subscriptions,
            ],
        ]
        do throws(RequestValidationError) {
            let request = try StreamingSyncRequest(body)
            return .success(
                SyncPlanRequest(tokenPayload: claims, parameters: request.parameters, streams: request.streams)
            )
        } catch {
            return .failure(Refusal(code: ErrorCode.generic.rawValue, problems: error.messages))
        }
    }

    /// A subscription as requests have it.
    private static func subscription(_ value: ExactJSON) -> ExactJSON {
        guard case .object(let object) = value else { return value }
        var request = JSONObject()
        request["stream"] = object["stream"]
        request["parameters"] = object["parameters"] ?? .null
        request["override_priority"] = object["priority"] ?? .null
        return .object(request)
    }
}

// MARK: - Expectations

extension ConfigTestCase {
    private mutating func readBuckets(_ node: JSONNode) {
        guard case .array(let elements) = node else {
            if case .null = node { return }
            problems.append("“buckets” must be a list of names.")
            return
        }
        let names = elements.compactMap { $0.idText ?? $0["bucket"]?.idText }
        if names.count < elements.count { problems.append("“buckets” has something that is no name.") }
        buckets = names
    }

    private mutating func readReceives(_ node: JSONNode) {
        var expected = ReceivedRows()
        switch node {
        case .null:
            return
        case .object(let tables):
            expected.isComplete = tables.isEmpty
            for table in tables {
                guard let rows = tableExpectation(table.value, table: table.name) else { continue }
                expected.tables.append((table.name, rows))
            }
        case .array(let elements):
            expected.isComplete = true
            for (position, element) in elements.enumerated() {
                let path = "receives[\(position)]"
                guard let table = element["table"]?.idText else {
                    problems.append("“\(path)” has no “table”.")
                    continue
                }
                guard let row = rowExpectation(element, path) else { continue }
                let place = expected.tables.firstIndex { $0.name.hasSameBytes(as: table) }
                if let place, case .rows(let rows) = expected.tables[place].expected {
                    expected.tables[place].expected = .rows(rows + [row])
                } else {
                    expected.tables.append((table, .rows([row])))
                }
            }
        default:
            problems.append("“receives” must be a map from tables to rows, or a list of rows.")
            return
        }
        receives = expected
    }

    private mutating func tableExpectation(_ node: JSONNode, table: String) -> ReceivedRows.Table? {
        switch node {
        case .integer(let digits):
            guard let count = Int(digits), count >= 0 else { break }
            return .count(count)
        case .array(let elements):
            var rows: [ReceivedRows.Row] = []
            for (position, element) in elements.enumerated() {
                guard let row = rowExpectation(element, "receives.\(table)[\(position)]") else { continue }
                rows.append(row)
            }
            return .rows(rows)
        default: break
        }
        problems.append("“receives.\(table)” must be a list of rows, or how many there are.")
        return nil
    }

    /// An id, or a map with `id` and maybe `priority` and `data`.
    private mutating func rowExpectation(_ node: JSONNode, _ path: String) -> ReceivedRows.Row? {
        if let id = node.idText { return ReceivedRows.Row(id: id) }
        guard case .object(let members) = node, let id = node["id"]?.idText else {
            problems.append("“\(path)” must be an id, or a map with “id”.")
            return nil
        }
        var row = ReceivedRows.Row(id: id)
        for member in members {
            switch (member.name, member.value) {
            case ("id", _), ("table", _), ("priority", .null), ("data", .null): break
            case ("priority", .integer(let digits)): row.priority = Int32(digits)
            case ("data", .string(let text)): row.data = .text(text)
            case ("data", .object(let members)): row.data = .members(members)
            default: problems.append("“\(path).\(member.name)” is not known, or has no such value.")
            }
        }
        return row
    }

    private mutating func readNever(_ node: JSONNode) {
        switch node {
        case .null:
            return
        case .object(let tables):
            for table in tables {
                switch table.value {
                case .bool(true):
                    never.append(ForbiddenRows(table: table.name, ids: nil))
                case .array(let elements):
                    let ids = elements.compactMap { $0.idText ?? $0["id"]?.idText }
                    if ids.count < elements.count {
                        problems.append("“never.\(table.name)” has something that is no id.")
                    }
                    never.append(ForbiddenRows(table: table.name, ids: ids))
                default:
                    problems.append("“never.\(table.name)” must be a list of ids, or true for all rows.")
                }
            }
        case .array(let elements):
            for (position, element) in elements.enumerated() {
                if let table = element.idText {
                    never.append(ForbiddenRows(table: table, ids: nil))
                } else if let table = element["table"]?.idText {
                    never.append(ForbiddenRows(table: table, ids: element["id"]?.idText.map { [$0] }))
                } else {
                    problems.append("“never[\(position)]” must be a table, or a map with “table” and “id”.")
                }
            }
        default:
            problems.append("“never” must be a map from tables to ids, or a list of tables.")
        }
    }
}

extension JSONNode {
    /// A text, or a number as row ids write it.
    fileprivate var idText: String? {
        switch self {
        case .string(let text): text
        case .integer, .real: value.idText
        default: nil
        }
    }
}
