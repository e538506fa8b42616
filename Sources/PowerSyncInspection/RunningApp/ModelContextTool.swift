import PowerSyncProtocol

/// A tool for an assistant: a request of `InspectionRequest` of the same name, with its parameters.
struct ModelContextTool: Sendable {
    let name: String
    let title: String
    let description: String
    let parameters: JSONObject
    let required: [String]
    let onlyReads: Bool

    /// The tool as `tools/list` has it.
    var json: ExactJSON {
        var schema: JSONObject = ["type": "object", "properties": .object(parameters)]
        if !required.isEmpty { schema["required"] = .array(required.map { .string($0) }) }
        schema["additionalProperties"] = false
        return [
            "name": .string(name), "title": .string(title), "description": .string(description),
            "inputSchema": .object(schema),
            "annotations": [
                "readOnlyHint": .bool(onlyReads), "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false,
            ],
        ]
    }

    /// The tools that read.
    static let reading = [
        ModelContextTool(
            name: "status",
            title: "Sync status",
            description: """
                What the app's database holds, does and waits for: connection, upload queue, buckets with their download progress, \
                streams, rows that are set aside, last errors.
                """,
            parameters: [:],
            required: [],
            onlyReads: true
        ),
        ModelContextTool(
            name: "query",
            title: "Read-only SQL",
            description: """
                The rows of one SQLite statement that only reads (SELECT, WITH, VALUES, EXPLAIN) in the app's local database. \
                The app's tables are views; sqlite_schema lists them. ps_crud is the upload queue, ps_oplog what was synced. A \
                statement ends after 5 seconds. isComplete is false when there are more rows.
                """,
            parameters: [
                "sql": ["type": "string", "description": "One statement."],
                "parameters": [
                    "type": "array", "items": ["type": ["string", "number", "boolean", "null"]],
                    "description": "The values of its parameters, by position.",
                ],
                "limit": [
                    "type": "integer", "minimum": 1, "maximum": 10_000, "description": "The most rows; 100 by default.",
                ],
            ],
            required: ["sql"],
            onlyReads: true
        ),
    ]

    private static let stream: JSONObject = [
        "stream": ["type": "string", "description": "The name of the stream in the sync config."],
        "parameters": ["type": "object", "description": "The parameters of the stream; none by default."],
    ]

    /// The tools that subscribe and unsubscribe.
    static let subscribing = [
        ModelContextTool(
            name: "subscribe",
            title: "Subscribe to a stream",
            description:
                "Subscribes to a sync stream until that is ended or the app listens no more; rows are downloaded.",
            parameters: {
                var parameters = stream
                parameters["ttl"] = [
                    "type": "number", "minimum": 0,
                    "description": "How long rows stay after the end, in seconds; a day by default.",
                ]
                parameters["priority"] = ["type": "integer", "minimum": 0, "maximum": 3]
                return parameters
            }(),
            required: ["stream"],
            onlyReads: false
        ),
        ModelContextTool(
            name: "unsubscribe",
            title: "Unsubscribe from a stream",
            description: "Ends the subscription that subscribe has made, or with all those of the app, too.",
            parameters: {
                var parameters = stream
                parameters["all"] = ["type": "boolean", "description": "Whether the app's own subscriptions end, too."]
                return parameters
            }(),
            required: ["stream"],
            onlyReads: false
        ),
    ]
}
