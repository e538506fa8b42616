/// Why a line of the service is not acceptable.
///
/// A protocol error: the client gives up the stream and reconnects.
package enum SyncLineError: Error, Sendable, Hashable {
    /// The stream cannot be divided into lines.
    case framing(FramingError)
    /// The line is not JSON.
    case json(JSONError)
    /// The line is not BSON that this module reads.
    case bson(BSONError)
    /// The line exceeds ``SyncLineFormat/maximumLineLength``.
    case tooLong(byteCount: Int)
    /// The line has no member, so it has no kind.
    case noMember
    /// The line has more than one member.
    case severalMembers
    /// A member that is required is missing. `object` is what it is missing from, `operation` for example.
    case missingMember(String, of: String)
    /// A member has a value of the wrong type or outside of its range. The offset is counted from the start of the line.
    case invalidMember(String, expected: String, offset: Int)

    /// Wraps an error of a framer.
    init(framing error: any Error) {
        // Framers have to be declared as throwing anything and throw only this.
        self = .framing(error as? FramingError ?? .truncatedDocument(received: 0))
    }
}

extension SyncLineError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .framing(let error): error.description
        case .json(let error): "sync line is not valid JSON: \(error)"
        case .bson(let error): "sync line is not valid BSON: \(error)"
        case .tooLong(let byteCount):
            "sync line of \(byteCount) bytes is longer than \(SyncLineFormat.maximumLineLength) bytes"
        case .noMember: "sync line has no member"
        case .severalMembers: "sync line has more than one member"
        case .missingMember(let member, let object): "sync line: \(object) has no '\(member)'"
        case .invalidMember(let member, let expected, let offset):
            "sync line: '\(member)' has to be \(expected), at byte \(offset)"
        }
    }
}
