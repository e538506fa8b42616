import PowerSyncProtocol

/// Finds the writes of a request whose ids or names have half a surrogate pair.
///
/// JavaScript makes `"Ann \\ud83d"` of a text that was cut within a character. In the value of a column that is U+FFFD; a row, a table or
/// a column that is named so is none that is known.
enum HalvedEntries {
    /// Where values may have them: below the columns, and in what the app has noted.
    private static let values = JSONScanner.HalfPairs.replacedIn(["data", "old", "metadata"])

    /// The positions of these writes among those of a request.
    ///
    /// - Parameter bytes: JSON text that is an object.
    /// - Returns: Positions from 0.
    /// - Throws: ``JSONError`` when the id of the client has one.
    static func indices(in bytes: ByteView) throws(JSONError) -> Set<Int> {
        guard mayHaveHalves(bytes) else { return [] }
        var indices: Set<Int> = []
        var scanner = JSONScanner(bytes)
        scanner.halfPairs = .replaced
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            if name.equals("data"), try scanner.nextKind() == .array {
                indices = try indicesOfEntries(&scanner, bytes)
                continue
            }
            let isClient = name.equals("client_id")
            let range = try scanner.skipValue()
            if isClient { _ = try ExactJSON(parsing: bytes[range]) }
        }
        return indices
    }

    private static func indicesOfEntries(_ scanner: inout JSONScanner, _ bytes: ByteView) throws(JSONError) -> Set<Int>
    {
        var indices: Set<Int> = []
        var index = 0
        try scanner.beginArray()
        while try scanner.nextElement() {
            let range = try scanner.skipValue()
            if (try? ExactJSON(parsing: bytes[range], hugeNumbers: .infinite, halfPairs: values)) == nil {
                indices.insert(index)
            }
            index += 1
        }
        return indices
    }

    /// Whether there is an escape sequence of half a pair, perhaps beside the other half.
    private static func mayHaveHalves(_ bytes: ByteView) -> Bool {
        var offset = 0
        while true {
            offset = bytes.endOfPlainText(from: offset)
            guard offset + 3 < bytes.count else { return false }
            guard bytes[offset] == UInt8(ascii: "\\") else {
                offset += 1
                continue
            }
            let isHalf =
                bytes[offset + 1] == UInt8(ascii: "u") && bytes[offset + 2] | 0x20 == UInt8(ascii: "d")
                && bytes[offset + 3] >= UInt8(ascii: "8")
            if isHalf { return true }
            offset += 2
        }
    }

    /// The answer to such a write.
    static func rejection(of operationID: Int64) -> EntryRejection {
        EntryRejection(
            operationID: operationID,
            .malformed,
            message:
                "The id, the table or the name of a column has half of a character: a text was cut in the middle of one."
        )
    }
}
