/// What a statement begins with.
extension SQLText {
    private static let changes: Set<String> = ["INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"]

    /// Whether a statement is one for rows, by its first word: no other needs to run outside a transaction.
    ///
    /// `WITH` may introduce a query as well.
    package static func changesRows(_ sql: String) -> Bool {
        var rest = skippingBlanks(sql[...])
        while rest.utf8.first == UInt8(ascii: ";") { rest = skippingBlanks(rest.dropFirst()) }
        let word = rest.utf8.prefix { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
        return changes.contains(String(decoding: word, as: UTF8.self).uppercased())
    }

    /// What follows white space and comments, as SQLite understands them; also a byte order mark.
    package static func skippingBlanks(_ sql: Substring) -> Substring {
        var rest = sql.utf8
        while let first = rest.first {
            if [9, 10, 12, 13, 32].contains(first) {
                rest.removeFirst()
            } else if rest.starts(with: "\u{feff}".utf8) {
                rest = rest.dropFirst(3)
            } else if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest.removeFirst() }
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        return Substring(rest)
    }
}
