import PowerSyncProtocol

/// Writes the names of JSON members.
enum JSONWriter {
    /// A name as it stands in an object: `"name":`.
    static func key(_ name: String) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONText.appendString(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        return bytes
    }
}
