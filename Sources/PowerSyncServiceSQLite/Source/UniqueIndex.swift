import GRDB
import PowerSyncSQLite

/// A unique index by which `REPLACE` may delete a row that has another key than the one that is written.
struct UniqueIndex: Sendable, Equatable {
    /// A column or an expression of the index.
    struct Term: Sendable, Equatable {
        /// In SQL, with the columns of the table as names.
        var expression: String
        /// The column, if it is one.
        var column: String?
        /// How values are compared.
        var collation: String
    }

    /// What must be equal.
    var terms: [Term]
    /// Of which rows the index consists, in SQL; `nil` for all.
    var condition: String?

    /// The columns whose changes matter; `nil` when any may.
    var columns: [String]? {
        let columns = terms.compactMap(\.column)
        return condition == nil && columns.count == terms.count ? columns : nil
    }

    /// The indexes of a table, without those that have only rows with equal keys.
    static func all(of table: String, _ db: Database) throws -> [UniqueIndex] {
        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT l.name, l.origin, l.partial, s.sql
                FROM pragma_index_list(?) AS l LEFT JOIN sqlite_master AS s ON s.type = 'index' AND s.name = l.name
                WHERE l."unique" = 1 ORDER BY l.name
                """,
            arguments: [table]
        )
        return try indexes.compactMap { index in
            let columns = try Row.fetchAll(
                db,
                sql: """
                    SELECT x.name, x.coll, coalesce(c.type, '') AS type
                    FROM pragma_index_xinfo(?) AS x LEFT JOIN pragma_table_xinfo(?) AS c ON c.cid = x.cid
                    WHERE x.key = 1 ORDER BY x.seqno
                    """,
                arguments: [index["name"] as String, table]
            )
            if index["origin"] as String == "pk", columns.allSatisfy({ isExact($0["type"], $0["coll"]) }) { return nil }
            let text = (index["sql"] as String?).map { IndexText($0) }
            let terms = columns.enumerated().map { position, column in
                let name: String? = column["name"]
                let expression = name.map { SQLText.identifier($0) } ?? text?.terms[safe: position] ?? "NULL"
                return Term(expression: expression, column: name, collation: column["coll"])
            }
            return UniqueIndex(terms: terms, condition: index["partial"] ? text?.condition : nil)
        }
    }

    /// Whether values that are equal in a column are the same: not texts under a collation, and not 1 and 1.0 in a column
    /// that converts neither.
    private static func isExact(_ type: String, _ collation: String) -> Bool {
        let type = type.uppercased()
        return collation == "BINARY" && !type.isEmpty && type != "ANY" && !type.contains("BLOB")
    }
}

/// The text of a `CREATE INDEX`, taken apart.
///
///     CREATE UNIQUE INDEX name ON table (term [ASC | DESC], …) [WHERE condition]
struct IndexText: Equatable {
    /// The terms, without their order.
    private(set) var terms: [String] = []
    /// The condition; `nil` when there is none.
    private(set) var condition: String?

    /// Takes a statement apart that SQLite has accepted.
    init(_ sql: String) {
        let bytes = Array(sql.utf8)
        var depth = 0
        var start = bytes.startIndex
        var lastWord = bytes.endIndex..<bytes.endIndex
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        func endTerm(at end: Int) -> String {
            let isOrder = ["ASC", "DESC"].contains(text(lastWord).uppercased())
            return text(start..<(isOrder ? lastWord.lowerBound : end))
        }
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let token = Self.token(in: bytes, from: index)
            defer { index = token.upperBound }
            switch bytes[index] {
            case UInt8(ascii: "("):
                depth += 1
                if depth == 1, terms.isEmpty { start = token.upperBound }
                lastWord = token.lowerBound..<token.lowerBound
            case UInt8(ascii: ")"):
                depth -= 1
                if depth == 0, condition == nil {
                    terms.append(endTerm(at: index))
                    condition = Self.condition(after: token.upperBound, in: bytes)
                    return
                }
                lastWord = token.lowerBound..<token.lowerBound
            case UInt8(ascii: ",") where depth == 1:
                terms.append(endTerm(at: index))
                start = token.upperBound
                lastWord = token.lowerBound..<token.lowerBound
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0c:
                break
            default:
                if !Self.isComment(token, in: bytes) { lastWord = token }
            }
        }
    }

    private static func condition(after start: Int, in bytes: [UInt8]) -> String? {
        var index = start
        while index < bytes.endIndex {
            let token = token(in: bytes, from: index)
            index = token.upperBound
            guard String(decoding: bytes[token], as: UTF8.self).uppercased() == "WHERE" else { continue }
            return String(decoding: bytes[index...], as: UTF8.self)
        }
        return nil
    }

    private static func isComment(_ token: Range<Int>, in bytes: [UInt8]) -> Bool {
        bytes[token].starts(with: "--".utf8) || bytes[token].starts(with: "/*".utf8)
    }

    /// The token at a position: a word, something in quotes, a comment, or one byte.
    private static func token(in bytes: [UInt8], from start: Int) -> Range<Int> {
        func end(of closing: String, after index: Int) -> Int {
            let closing = Array(closing.utf8)
            var index = index
            while index < bytes.endIndex, !bytes[index...].starts(with: closing) { index += 1 }
            return min(index + closing.count, bytes.endIndex)
        }
        let first = bytes[start]
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
            // A doubled mark begins the next token, which does no harm.
            return start..<end(of: String(UnicodeScalar(first)), after: start + 1)
        case UInt8(ascii: "["): return start..<end(of: "]", after: start + 1)
        default: break
        }
        if bytes[start...].starts(with: "--".utf8) { return start..<end(of: "\n", after: start + 2) }
        if bytes[start...].starts(with: "/*".utf8) { return start..<end(of: "*/", after: start + 2) }
        var end = start
        while end < bytes.endIndex, isWord(bytes[end]) { end += 1 }
        return start..<max(end, start + 1)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
