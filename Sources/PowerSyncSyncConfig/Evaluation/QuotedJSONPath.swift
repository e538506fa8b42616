/// The right side of `->>` as plans of version 1 have it: a member name, or a path that starts with `$`.
///
/// Frozen, like everything that such plans mean.
///
/// ```
/// role        the member "role"        $.a.b      member b of member a      3         element 3 of an array
/// a.b         the member "a.b"         $.a[0]     first element of a        $."a.b"   the member "a.b"
/// ```
struct QuotedJSONPath: Hashable {
    private var pieces: [String]

    /// Reads a path.
    ///
    /// - Returns: `nil` for `NULL`.
    /// - Throws: ``EvaluationError/invalidPath``.
    init?(_ key: SQLValue) throws(EvaluationError) {
        switch key {
        case .null:
            return nil
        case .text(let text) where text.utf8.first == UInt8(ascii: "$"):
            pieces = try Self.pieces(ofPath: text.utf8.dropFirst())
        default:
            pieces = [key.idText]
        }
    }

    /// What the path leads to, or `nil` when a member is missing.
    func value(in document: JSONNode) -> JSONNode? {
        var value = document
        for piece in pieces {
            switch value {
            case .object:
                guard let member = value[piece] else { return nil }
                value = member
            case .array(let elements):
                guard !piece.isEmpty, piece.utf8.allSatisfy(Self.isDigit), let index = Int(piece),
                    elements.indices.contains(index)
                else { return nil }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func pieces(ofPath path: Substring.UTF8View) throws(EvaluationError) -> [String] {
        var pieces: [String] = []
        var rest = path
        while let delimiter = rest.popFirst() {
            let piece: Substring.UTF8View
            switch delimiter {
            case UInt8(ascii: "[") where rest.contains(UInt8(ascii: "]")):
                piece = rest.prefix { $0 != UInt8(ascii: "]") }
                guard piece.allSatisfy(isDigit) else { throw .invalidPath }
                rest = rest[piece.endIndex...].dropFirst()
            case UInt8(ascii: ".")
            where rest.first == UInt8(ascii: "\"") && rest.dropFirst().contains(UInt8(ascii: "\"")):
                piece = rest.dropFirst().prefix { $0 != UInt8(ascii: "\"") }
                rest = rest[piece.endIndex...].dropFirst()
            case UInt8(ascii: "."):
                piece = rest.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
                rest = rest[piece.endIndex...]
            default:
                throw .invalidPath
            }
            guard !piece.isEmpty else { throw .invalidPath }
            pieces.append(String(Substring(piece)))
        }
        return pieces
    }
}
