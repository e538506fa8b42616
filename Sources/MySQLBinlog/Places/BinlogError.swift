/// Why bytes are not an event that can be read, and where.
package struct BinlogError: Error, Sendable, Hashable {
    /// What is wrong.
    package enum Reason: Sendable, Hashable {
        /// The event ends inside of a field.
        case truncated
        /// The size in the header is not the number of bytes.
        case size(UInt32, actual: Int)
        /// The checksum of the event is another one.
        case checksum
        /// A length, a count or a number cannot be.
        case impossible(UInt64)
        /// Something follows after the last field.
        case trailingBytes
        /// The event does not begin where the one before ended.
        case lostPlace(expected: UInt64)
        /// This version does not know the type of event, and the server does not say that it can be ignored.
        case unknownEvent(server: String)
        /// Rows of a table that no `TABLE_MAP` has announced.
        case unknownTable(id: UInt64)
        /// The rows have another number of columns than their table.
        case columnCount(UInt64, expected: Int)
        /// This version cannot unpack what is compressed like this.
        case unknownCompression(UInt64)
        /// What is compressed is damaged.
        case compression
        /// A document of JSON is damaged.
        case json
    }

    /// The type of the event.
    package let event: BinlogEventType
    /// The name of the log file.
    package let file: String
    /// The offset of the event in the file.
    package let offset: UInt64
    /// The field, `post-header` or `length of the schema`.
    package let field: String
    /// The index of the column, if it is a column's value.
    package let column: Int?
    /// What is wrong.
    package let reason: Reason

    init(event: BinlogEventType, file: String, offset: UInt64, _ fault: BinlogFault) {
        self.event = event
        self.file = file
        self.offset = offset
        field = "\(fault.field)"
        column = fault.column
        reason = fault.reason
    }
}

/// What is wrong with the bytes of an event, before it is known which event they are of.
struct BinlogFault: Error {
    var field: StaticString
    var column: Int?
    var reason: BinlogError.Reason

    init(_ field: StaticString, _ reason: BinlogError.Reason, column: Int? = nil) {
        self.field = field
        self.reason = reason
        self.column = column
    }
}

extension BinlogError: CustomStringConvertible {
    /// A sentence without an end: `TABLE_MAP (19) in binlog.000042 at 4711, column 3, metadata: the event ends here`.
    package var description: String {
        let what =
            switch reason {
            case .truncated: "the event ends here"
            case .size(let size, let actual): "the event has \(actual) bytes, and says that it has \(size)"
            case .checksum: "the event is damaged: its checksum is another one"
            case .impossible(let number): "the number \(number) cannot be"
            case .trailingBytes: "something follows after the event"
            case .lostPlace(let expected): "lost the place in the log: expected an event at \(expected)"
            case .unknownEvent(let server):
                "server \(server) has written an event of a type that this version does not know"
            case .unknownTable(let id): "rows of a table with the number \(id), which was not announced"
            case .columnCount(let count, let expected): "there are \(count) columns, and the table has \(expected)"
            case .unknownCompression(let number):
                "compressed with the algorithm \(number), which this version does not know"
            case .compression: "what is compressed is damaged"
            case .json: "a document of JSON is damaged"
            }
        return "\(event) in \(file) at \(offset), \(column.map { "column \($0 + 1), " } ?? "")\(field): \(what)"
    }
}
