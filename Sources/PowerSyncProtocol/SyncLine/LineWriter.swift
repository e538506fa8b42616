/// What the encoder of sync lines needs from an encoding.
///
/// Names are `nil` for the line itself and for elements of arrays.
protocol LineWriter {
    /// Opens an object.
    mutating func beginObject(_ name: StaticString?)
    /// Opens an object whose name is not known to this module.
    mutating func beginObject(named name: String)
    /// Closes the innermost object.
    mutating func endObject()
    /// Opens an array.
    mutating func beginArray(_ name: StaticString)
    /// Closes the innermost array.
    mutating func endArray()
    /// Writes a string.
    mutating func write(_ name: StaticString?, _ value: String)
    /// Writes a string that consists of a literal.
    mutating func write(_ name: StaticString, literal value: StaticString)
    /// Writes a string whose UTF-8 bytes are given.
    mutating func write(_ name: StaticString, text: ByteView)
    /// Writes the JSON text of a row.
    mutating func write(_ name: StaticString, row: ByteView)
    /// Writes an integer.
    mutating func write(_ name: StaticString, _ value: Int64)
    /// Writes a checksum in its signed or unsigned form.
    mutating func write(_ name: StaticString, checksum value: Int64)
    /// Writes a boolean.
    mutating func write(_ name: StaticString, _ value: Bool)
    /// Writes null.
    mutating func writeNull(_ name: StaticString)
}
