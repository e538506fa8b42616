extension SQLText {
    /// What an index is over, as the text of its `CREATE INDEX` says.
    package struct IndexParts: Equatable {
        /// The columns and expressions, without `ASC` and `DESC`.
        package let terms: [String]
        /// The condition of a partial index, whose columns are named without the table's name.
        package let condition: String?

        package init(terms: [String], condition: String?) {
            self.terms = terms
            self.condition = condition
        }
    }

    /// Takes a `CREATE INDEX` of `sqlite_master` apart.
    ///
    /// - Returns: `nil` when the text is no such statement.
    package static func indexParts(_ sql: String) -> IndexParts? {
        let tokens = Array(SQLTokens(sql))
        guard let on = tokens.firstIndex(where: { $0.isKeyword("ON") }),
            let open = tokens[on...].firstIndex(where: { $0.isSymbol("(") })
        else { return nil }
        var terms: [String] = []
        var depth = 1
        var start = open + 1
        var index = start
        while depth > 0 {
            guard index < tokens.count else { return nil }
            let token = tokens[index]
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            if depth == 0 || depth == 1 && token.isSymbol(",") {
                var term = tokens[start..<index]
                if let last = term.last, last.isKeyword("ASC") || last.isKeyword("DESC") { term.removeLast() }
                guard let text = text(of: term, in: sql) else { return nil }
                terms.append(text)
                start = index + 1
            }
            index += 1
        }
        guard index < tokens.count, tokens[index].isKeyword("WHERE") else {
            return IndexParts(terms: terms, condition: nil)
        }
        return IndexParts(terms: terms, condition: unqualified(tokens[(index + 1)...], in: sql))
    }

    /// From the first of some elements to the last, without the names of tables before those of columns.
    private static func unqualified(_ tokens: ArraySlice<SQLTokens.Token>, in sql: String) -> String? {
        guard let first = tokens.first, let last = tokens.last else { return nil }
        var text = ""
        var place = first.source.startIndex
        for index in tokens.indices.dropLast(2) where tokens[index + 1].isSymbol(".") {
            // Or else it is a number.
            guard let name = tokens[index].name?.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(name)
            else { continue }
            text += sql[place..<tokens[index].source.startIndex]
            place = tokens[index + 2].source.startIndex
        }
        return text + sql[place..<last.source.endIndex]
    }

    /// From the first of some elements to the last.
    private static func text(of tokens: ArraySlice<SQLTokens.Token>, in sql: String) -> String? {
        guard let first = tokens.first, let last = tokens.last else { return nil }
        return String(sql[first.source.startIndex..<last.source.endIndex])
    }
}
