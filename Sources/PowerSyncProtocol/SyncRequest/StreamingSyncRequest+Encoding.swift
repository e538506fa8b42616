package import NIOCore

extension StreamingSyncRequest {
    /// The body that a client posts.
    ///
    /// Members that only old services look at are always the same: `include_checksum` and `binary_data` are `true`.
    package func encodedJSON() -> ByteBuffer {
        var buffer = ByteBuffer()
        ExactJSON.object(json).write(to: &buffer)
        return buffer
    }

    private var json: JSONObject {
        var request: JSONObject = [
            "buckets": .array(
                buckets.map { ["name": .string($0.name.rawValue), "after": .string($0.after.description)] }
            ),
            "include_checksum": true,
            "raw_data": .bool(rawData),
            "binary_data": true,
        ]
        request["client_id"] = clientID.map(ExactJSON.string)
        request["parameters"] = .object(parameters)
        request["streams"] = [
            "include_defaults": .bool(streams.includeDefaults),
            "subscriptions": .array(streams.subscriptions.map(\.json)),
        ]
        if !appMetadata.isEmpty {
            // Sorted, so that equal requests have equal bodies.
            let entries = appMetadata.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            request["app_metadata"] = .object(
                JSONObject(members: entries.map { JSONObject.Member(name: $0.key, value: .string($0.value)) })
            )
        }
        return request
    }
}

extension StreamingSyncRequest.Subscription {
    /// Both optional members are always there, as services require.
    fileprivate var json: ExactJSON {
        [
            "stream": .string(stream),
            "parameters": parameters.map(ExactJSON.object) ?? .null,
            "override_priority": overridePriority.map { .integer(Int64($0.rawValue)) } ?? .null,
        ]
    }
}
