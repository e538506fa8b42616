/// Why a stream of bytes cannot be divided into lines.
package enum FramingError: Error, Sendable, Hashable {
    /// A line, or the announced length of a document, exceeds the limit in bytes.
    case lineTooLong(limit: Int)
    /// A BSON document announces a length that no document has.
    case invalidDocumentLength(Int32)
    /// The stream ended inside of a BSON document, after so many bytes of it.
    case truncatedDocument(received: Int)
}

extension FramingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .lineTooLong(let limit): "a line of the sync stream is longer than \(limit) bytes"
        case .invalidDocumentLength(let length): "a BSON document cannot have a length of \(length) bytes"
        case .truncatedDocument(let received): "the sync stream ended inside a BSON document, after \(received) bytes"
        }
    }
}
