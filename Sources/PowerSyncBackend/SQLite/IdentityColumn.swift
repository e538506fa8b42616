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

    let name: String
    private let table: String
    private let affinity: TextAffinity
    /// The rows that the column takes for those with the id that is the parameter.
    private let candidatesSQL: String

    /// The column with a name.
    init(_ name: String, of table: String, _ affinity: TextAffinity) {
        self.table = table
        self.name = name
        self.affinity = affinity
        let column = SQLText.identifier(name)
        // A column without affinity may have 7 where the client has seen “7”.
        let number = TextAffinity.converted(to: "NUMERIC")
        candidatesSQL =
            "SELECT \(column), \(column) = ?1 FROM \(SQLText.identifier(table)) WHERE \(column) IN (?1, \(number))"
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
        let candidates = try PreparedStatement(db, sql: candidatesSQL)
        defer { candidates.reset() }
        try candidates.bind(id: id, at: 1, in: table)
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

    /// Checks that rows with an id can be told from all others, and finds the row with the id.
    ///
    /// - Throws: ``WriteRefusal`` as ``storedID(_:_:)`` does, and when the id would be stored as another text; `DatabaseError`.
    func checkedID(_ id: String, _ db: Database) throws -> StoredID? {
        if let other = try affinity.otherText(of: id, in: table, db) {
            throw refusal("would store the id “\(id.shortened())” as “\(other.shortened())”")
        }
        return try storedID(id, db)
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

    /// Binds the text of an id.
    ///
    /// - Throws: ``WriteRefusal`` for a text that is longer than the database allows.
    func bind(id: String, at index: CInt, in table: String) throws {
        guard bind(id, at: index) == 0 else {
            throw WriteRefusal(
                code: .constraint,
                message: "A value for table “\(table)” is longer than the database allows."
            )
        }
    }

    /// The id in a column of the current row, if its text is this one.
    func storedID(with text: String, at column: CInt) -> IdentityColumn.StoredID? {
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
    func text(ofNumberAt column: CInt) -> String? {
        switch storageClass(at: column) {
        case .integer: String(integer(at: column))
        case .real: RealText.plain(double(at: column))
        default: nil
        }
    }
}
