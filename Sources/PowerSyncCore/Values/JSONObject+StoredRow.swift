package import PowerSyncProtocol

extension JSONObject {
    /// Reads a row as it may stand in a data table; see ``StoredRow``.
    ///
    /// The JSON functions of SQLite, for which the row was stored, take more for JSON than we do elsewhere. Numbers that no
    /// double can hold are infinite, and what ``JSONRepair`` can repair is. What is not readable even then, as a row that is
    /// nested too deeply or is no object, has no members.
    ///
    /// - Complexity: O(length).
    package init(storedRow text: String) {
        var text = text
        self = text.withUTF8 { characters in
            let bytes = UnsafeRawBufferPointer(characters)
            if let row = try? unsafe JSONObject(parsing: ByteView(bytes), hugeNumbers: .infinite) { return row }
            guard let repaired = unsafe JSONRepair.repaired(bytes, infinities: .numbers) else { return JSONObject() }
            let readable = String(decoding: repaired, as: UTF8.self)
            return (try? JSONObject(parsing: readable, hugeNumbers: .infinite)) ?? JSONObject()
        }
    }
}
