/// A row of any type; names and ids are equal when their bytes are.
struct RowKey: Hashable, Sendable {
    let type: [UInt8]
    let id: [UInt8]

    /// The name of the type.
    var typeName: String { String(decoding: type, as: UTF8.self) }
    /// The id as a text.
    var idText: String { String(decoding: id, as: UTF8.self) }
}
