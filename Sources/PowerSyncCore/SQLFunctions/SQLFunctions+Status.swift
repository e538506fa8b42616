import PowerSyncProtocol

extension SQLFunctions {
    /// Functions that tell what is in the database and what changes.
    static var statusFunctions: [ScalarFunction] {
        [
            ScalarFunction(name: "powersync_offline_sync_status", argumentCount: 0, options: .directOnly) { call in
                call.result(try DownloadStatus.offline(call.state.requireDatabase()).json.text)
            },
            ScalarFunction(
                name: "powersync_update_hooks",
                argumentCount: 1,
                options: [.deterministic, .resultSubtype]
            ) { call in
                if call[0].isText("install") {
                    try TableChanges.install(on: call.state)
                } else if call[0].isText("get") {
                    guard let changes = call.state.announcements.tableChanges else {
                        throw LocalDatabaseError.invalidState("powersync_update_hooks('install') was not called")
                    }
                    let names = ExactJSON.array(changes.take().map(ExactJSON.string)).text
                    unsafe names.withUTF8Bytes { unsafe call.result($0, subtype: SQLArgument.jsonSubtype) }
                } else {
                    throw LocalDatabaseError.invalidState("Unknown operation")
                }
            },
        ]
    }
}

extension String {
    fileprivate func withUTF8Bytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        var text = self
        text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}

extension DownloadStatus {
    /// The form that other implementations read as their initial status.
    ///
    /// ```json
    /// {"connected":false,"connecting":false,
    ///  "priority_status":[{"priority":2147483647,"last_synced_at":1767225600000000,"has_synced":true}],
    ///  "downloading":null,
    ///  "streams":[{"name":"s","parameters":{"a":1},"priority":null,"active":true,"is_default":false,
    ///    "has_explicit_subscription":true,"expires_at":1767312000000000,"last_synced_at":null,
    ///    "progress":{"total":0,"downloaded":0}}]}
    /// ```
    fileprivate var json: ExactJSON {
        [
            "connected": .bool(isConnected),
            "connecting": .bool(isConnecting),
            "priority_status": .array(
                priorities.map { entry in
                    [
                        "priority": .integer(Int64(entry.priority.rawValue)),
                        "last_synced_at": .integer(entry.lastSyncedAt.rawValue),
                        "has_synced": true,
                    ]
                }
            ),
            "downloading": .null,
            "streams": .array((streams ?? []).map(\.json)),
        ]
    }
}

extension StreamStatus {
    fileprivate var json: ExactJSON {
        [
            "name": .string(key.name),
            "parameters": key.parameters.map(ExactJSON.object) ?? .null,
            "priority": priority.map { .integer(Int64($0.rawValue)) } ?? .null,
            "active": .bool(isActive),
            "is_default": .bool(isDefault),
            "has_explicit_subscription": .bool(hasExplicitSubscription),
            "expires_at": expiresAt.map { .integer($0.rawValue) } ?? .null,
            "last_synced_at": lastSyncedAt.map { .integer($0.rawValue) } ?? .null,
            "progress": ["total": 0, "downloaded": 0],
        ]
    }
}
