import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// A column with ids of rows or users, in which they are compared as texts, byte by byte.
///
/// SQLite compares a text with a column by the affinity and the collation of the column: among integers `007` equals 7, under
/// `NOCASE` `ABC` equals `abc`. For a client these are different ids. So the comparison of SQLite, which uses the index, only gives the
/// candidates, and a row is found when the text of its stored id has the bytes of the id.
///
/// | Stored as | The text |
/// | --- | --- |
/// | INTEGER | its digits |
/// | REAL | the shortest digits, as the sync service sends them: `1.5`, `7`, `1e+21` |
/// | TEXT | its bytes |
/// | BLOB, NULL, an infinite number | none |
struct IdentityColumn {
    /// An id as the table has it.
    enum StoredID: Equatable {
        case integer(Int64)
        case real(Double)
        case text(String)
    }

    /// Of what form values become when they are stored in the column.
    private enum Affinity {
        /// Texts that are numbers become integers or reals.
        case numeric
        /// Texts that are numbers become reals.
        case real
        /// Texts stay as they are.
        case text
    }

    let name: String
    private let table: String
    private let affinity: Affinity

    /// The column with a name; values in one that the table does not have are taken for texts.
    ///
    /// - Throws: `DatabaseError`.
    init(_ name: String, of table: String, _ db: Database) throws {
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT x.name, x.type, l.strict FROM pragma_table_xinfo(?1) AS x
                JOIN pragma_table_list(?1) AS l ON l.schema = 'main'
                """,
            arguments: [table]
        )
        let column = columns.first { ExactText($0["name"]) == ExactText(name) }
        self.init(name, of: table, type: column?["type"] ?? "TEXT", isStrict: column?["strict"] ?? false)
    }

    /// A column with a declared type.
    init(_ name: String, of table: String, type: String, isStrict: Bool) {
        self.table = table
        self.name = name
        affinity = Self.affinity(of: type.uppercased(), isStrict: isStrict)
    }

    /// The rules of SQLite (“Determination Of Column Affinity”).
    private static func affinity(of type: String, isStrict: Bool) -> Affinity {
        if type.contains("INT") { return .numeric }
        if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) { return .text }
        if type.isEmpty || type.contains("BLOB") || isStrict && type == "ANY" { return .text }
        return ["REAL", "FLOA", "DOUB"].contains(where: type.contains) ? .real : .numeric
    }

    // MARK: - Finding a row

    /// Finds the row with an id.
    ///
    /// - Parameters:
    ///   - id: The text of the id.
    ///   - db: The connection.
    /// - Returns: The id as it is stored; `nil` when there is no such row.
    /// - Throws: ``WriteRefusal`` when the table has a row with another spelling of the id, or several with the id; `DatabaseError`.
    func storedID(_ id: String, _ db: Database) throws -> StoredID? {
        let column = SQLText.identifier(name)
        // A column without affinity may have 7 where the client has seen “7”.
        let number = Self.converted(to: "NUMERIC")
        let candidates = try PreparedStatement(
            db,
            sql: "SELECT \(column), \(column) = ?1 FROM \(SQLText.identifier(table)) WHERE \(column) IN (?1, \(number))"
        )
        defer { candidates.reset() }
        try bind(id, to: candidates)
        var found: [StoredID] = []
        var isSpelledOtherwise = false
        while try candidates.step() {
            if let stored = candidates.storedID(with: id, at: 0) {
                found.append(stored)
            } else if candidates.integer(at: 1) != 0 {
                isSpelledOtherwise = true
            }
        }
        guard found.count < 2 else {
            throw refusal("has several rows with the id “\(id.shortened())”: a number and a text")
        }
        guard !found.isEmpty || !isSpelledOtherwise else {
            throw refusal(
                "has a row whose id is another spelling of “\(id.shortened())”, which the column takes for the same"
            )
        }
        return found.first
    }

    /// Checks that rows with an id can be told from all others.
    ///
    /// - Throws: ``WriteRefusal`` as ``storedID(_:_:)`` does, and when the id would be stored as another text; `DatabaseError`.
    func check(_ id: String, _ db: Database) throws {
        if let other = try otherText(of: id, db) {
            throw refusal("would store the id “\(id.shortened())” as “\(other.shortened())”")
        }
        _ = try storedID(id, db)
    }

    /// What is read of a text that was stored in the column; `nil` when that is the text itself.
    ///
    /// - Throws: `DatabaseError`.
    func otherText(of text: String, _ db: Database) throws -> String? {
        let type: String
        switch affinity {
        case .numeric: type = "NUMERIC"
        case .real: type = "REAL"
        case .text: return nil
        }
        let statement = try PreparedStatement(db, sql: "SELECT \(Self.converted(to: type))")
        defer { statement.reset() }
        try bind(text, to: statement)
        guard try statement.step(), statement.storedID(with: text, at: 0) == nil else { return nil }
        return statement.text(ofNumberAt: 0) ?? statement.string(at: 0)
    }

    private func bind(_ text: String, to statement: PreparedStatement) throws {
        guard statement.bind(text, at: 1) == 0 else {
            throw WriteRefusal(
                code: .constraint,
                message: "A value for table “\(table)” is longer than the database allows."
            )
        }
    }

    /// The first parameter as a column with a numeric affinity stores it.
    ///
    /// CAST makes 12 of `12a`, which a column leaves as it is; but a comparison with the result converts as the column does.
    private static func converted(to type: String) -> String {
        "CASE WHEN CAST(?1 AS NUMERIC) = ?1 THEN CAST(?1 AS \(type)) ELSE ?1 END"
    }

    private func refusal(_ reason: String) -> WriteRefusal { WriteRefusal(table: table, id: reason) }

    // MARK: - Using what was found

    /// Whether a column of the row with a stored id has a text.
    ///
    /// - Throws: `DatabaseError`, also when there is no such column.
    func row(_ id: StoredID, has text: String, in column: String, _ db: Database) throws -> Bool {
        // Qualified: a name in quotes that is no column would be a text.
        let statement = try PreparedStatement(
            db,
            sql: "SELECT t.\(SQLText.identifier(column)) FROM \(SQLText.identifier(table)) AS t WHERE \(condition(1))"
        )
        defer { statement.reset() }
        _ = statement.bind(id, at: 1)
        return try statement.step() && statement.storedID(with: text, at: 0) != nil
    }

    /// The condition that is true of the row with a stored id alone, whatever the collation of the column.
    ///
    /// - Parameter parameter: The number of the parameter for the id.
    /// - Returns: SQL.
    func condition(_ parameter: Int) -> String {
        let column = SQLText.identifier(name)
        return "\(column) = ?\(parameter) AND \(column) COLLATE BINARY = ?\(parameter)"
    }
}

extension PreparedStatement {
    /// Binds an id as it is stored.
    ///
    /// - Returns: SQLite's result code.
    func bind(_ id: IdentityColumn.StoredID, at index: CInt) -> CInt {
        switch id {
        case .integer(let number): bind(number, at: index)
        case .real(let number): bind(number, at: index)
        case .text(let text): bind(text, at: index)
        }
    }

    /// The id in a column of the current row, if its text is this one.
    fileprivate func storedID(with text: String, at column: CInt) -> IdentityColumn.StoredID? {
        switch storageClass(at: column) {
        case .integer where ExactText(String(integer(at: column))) == ExactText(text): .integer(integer(at: column))
        case .real
        where double(at: column).isFinite && ExactText(RealText.plain(double(at: column))) == ExactText(text):
            .real(double(at: column))
        // Not as a `String`, which repairs what is not UTF-8, and whose equality is that of Unicode.
        case .text where unsafe self.text(at: column).map({ unsafe $0.elementsEqual(text.utf8) }) == true: .text(text)
        default: nil
        }
    }

    /// The text of a number in a column of the current row.
    fileprivate func text(ofNumberAt column: CInt) -> String? {
        switch storageClass(at: column) {
        case .integer: String(integer(at: column))
        case .real: RealText.plain(double(at: column))
        default: nil
        }
    }
}
