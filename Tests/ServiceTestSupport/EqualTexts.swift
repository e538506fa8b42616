import Testing

/// Two texts that Swift's `==` takes for one, and no database does.
package struct EqualTexts: CustomTestStringConvertible, Sendable {
    package var first: String
    package var second: String

    package var testDescription: String {
        first.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
    }

    package static let pairs = [
        EqualTexts(first: "Kevin", second: "\u{212a}evin"), EqualTexts(first: "\u{e9}", second: "e\u{301}"),
        EqualTexts(first: "\u{c5}", second: "\u{212b}"),
        EqualTexts(first: "a\u{323}\u{302}", second: "a\u{302}\u{323}"),
        EqualTexts(first: "\u{ac00}", second: "\u{1100}\u{1161}"), EqualTexts(first: "a;b", second: "a\u{37e}b"),
    ]
}
