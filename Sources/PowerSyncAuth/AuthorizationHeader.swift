/// The value of an `Authorization` header (RFC 9110, 11.4), in HTTP and in the SETUP of RSocket.
package enum AuthorizationHeader {
    /// What is behind the scheme `Token` or `Bearer`.
    ///
    /// The scheme is in any case; spaces and tabs are around the two parts, and at least one between them.
    ///
    /// - Parameter value: The header.
    /// - Returns: The credentials; `nil` for another scheme, and when there are none.
    package static func credentials(_ value: String) -> Substring? {
        let value = trimmed(value.utf8[...])
        let end = value.firstIndex(where: isBlank) ?? value.endIndex
        guard ["token", "bearer"].contains(where: { value[..<end].map(lowercased).elementsEqual($0.utf8) }) else {
            return nil
        }
        let credentials = Substring(trimmed(value[end...]))
        return credentials.isEmpty ? nil : credentials
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
}
