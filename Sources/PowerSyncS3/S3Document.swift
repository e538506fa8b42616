import Foundation

/// The few elements of an XML answer of S3 that are asked for.
///
/// S3's answers have neither attributes that count, nor elements of one name inside each other, nor comments, so this looks for tags. What
/// it does not find is not there.
struct S3Document {
    private let text: Substring

    /// Reads the body of an answer.
    init(_ body: Data) {
        text = Substring(String(decoding: body, as: UTF8.self))
    }

    private init(_ text: Substring) {
        self.text = text
    }

    /// The content of the first element of a name, with its entities resolved; `nil` when there is none.
    subscript(_ name: String) -> String? {
        elements(name).first?.unescaped
    }

    /// The elements of a name.
    func elements(_ name: String) -> [S3Document] {
        var found: [S3Document] = []
        var rest = text
        while let start = rest.range(of: "<\(name)>"), let end = rest[start.upperBound...].range(of: "</\(name)>") {
            found.append(S3Document(rest[start.upperBound..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return found
    }

    private var unescaped: String {
        guard text.contains("&") else { return String(text) }
        // The ampersand last: what it makes is not an entity.
        return [
            ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#34;", "\""), ("&#39;", "'"),
            ("&amp;", "&"),
        ].reduce(String(text)) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }

    /// A text with what means something in XML as entities.
    static func escaped(_ text: String) -> String {
        [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")]
            .reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }
}
