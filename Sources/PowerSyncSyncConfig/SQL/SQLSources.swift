/// All SQL texts of a config, in one system of coordinates.
///
/// Queries refer to common table expressions, whose text is elsewhere in the file. So that a place is one range wherever
/// it is, each text gets offsets of its own: those of the first text begin at 0, those of the next one behind its end.
struct SQLSources {
    /// One SQL text.
    struct Text {
        /// The text.
        let text: String
        /// The offset of its first byte.
        let base: Int
        /// Where it comes from.
        let source: ScalarSource
    }

    private var texts: [(text: Text, bytes: [UInt8])] = []
    private var end = 0

    /// Adds the text of a YAML scalar.
    mutating func add(_ text: String, at source: ScalarSource) -> Text {
        let added = Text(text: text, base: end, source: source)
        let bytes = Array(text.utf8)
        texts.append((added, bytes))
        // One more, so that the end of a text is not the beginning of the next one.
        end += bytes.count + 1
        return added
    }

    /// The place of a range in the file.
    func fileRange(of range: Range<Int>) -> Range<Int> {
        guard let entry = entry(at: range.lowerBound) else { return 0..<0 }
        let base = entry.text.base
        return entry.text.source.fileRange(of: (range.lowerBound - base)..<(range.upperBound - base))
    }

    /// What is written in a range.
    func text(of range: Range<Int>) -> String {
        guard let entry = entry(at: range.lowerBound) else { return "" }
        let start = min(range.lowerBound - entry.text.base, entry.bytes.count)
        let end = min(max(range.upperBound - entry.text.base, start), entry.bytes.count)
        return String(decoding: entry.bytes[start..<end], as: UTF8.self)
    }

    private func entry(at offset: Int) -> (text: Text, bytes: [UInt8])? {
        var low = 0
        var high = texts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if texts[middle].text.base <= offset { low = middle } else { high = middle }
        }
        return texts.isEmpty ? nil : texts[low]
    }
}
