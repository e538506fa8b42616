package import PowerSyncProtocol

/// What identifies a stream subscription: the name of the stream and the parameters.
///
/// Parameters are compared as canonical JSON text, because that is how the subscription table stores them:
/// `{"b":1,"a":2}` and `{"a":2,"b":1}` make the same key.
package struct StreamKey: Sendable {
    /// The name of the stream in the sync config.
    package let name: String
    /// The parameters as canonical JSON text; `null` stands for none.
    package let parametersText: String

    /// Creates a key.
    package init(name: String, parameters: JSONObject? = nil) {
        self.name = name
        self.parametersText = parameters?.canonicalText ?? "null"
    }

    /// Creates a key from the columns `stream_name` and `local_params`.
    init(name: String, parametersText: String) {
        self.name = name
        self.parametersText = parametersText
    }

    /// Whether there are parameters.
    package var hasParameters: Bool { parametersText != "null" }

    /// The parameters; `nil` when there are none.
    ///
    /// - Complexity: O(length of the text), which is parsed on every call.
    package var parameters: JSONObject? {
        try? JSONObject(parsing: parametersText)
    }
}

extension StreamKey: Hashable {
    /// Compares bytes; `String` would take canonically equivalent texts for equal.
    package static func == (lhs: StreamKey, rhs: StreamKey) -> Bool {
        // The cheap comparison first, which tells most keys apart.
        lhs.parametersText == rhs.parametersText && lhs.name == rhs.name
            && lhs.name.utf8.elementsEqual(rhs.name.utf8)
            && lhs.parametersText.utf8.elementsEqual(rhs.parametersText.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in name.utf8 { hasher.combine(byte) }
        hasher.combine(0xff as UInt8)
        for byte in parametersText.utf8 { hasher.combine(byte) }
    }
}

extension StreamKey: CustomStringConvertible {
    package var description: String {
        hasParameters ? "\(name) \(parametersText)" : name
    }
}
