import GRDB
import PowerSyncSQLite

/// What a column of SQLite makes of a text that is stored in it.
enum TextAffinity: Sendable {
    /// Texts that are numbers become integers or reals.
    case numeric
    /// Texts that are numbers become reals.
    case real
    /// Texts stay as they are.
    case text

    /// The affinity of a declared type, by the rules of SQLite (“Determination Of Column Affinity”).
    init(declaredType: String, isStrict: Bool) {
        let type = declaredType.uppercased()
        if type.contains("INT") {
            self = .numeric
        } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
            self = .text
        } else if type.isEmpty || type.contains("BLOB") || isStrict && type == "ANY" {
            self = .text
        } else {
            self = ["REAL", "FLOA", "DOUB"].contains(where: type.contains) ? .real : .numeric
        }
    }

    /// What is read of a text that was stored in a column; `nil` when that is the text itself.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - table: The table of the column, for messages.
    ///   - db: The connection.
    /// - Returns: The other text, if it is another one.
    /// - Throws: ``WriteRefusal`` for a text that is longer than the database allows; `DatabaseError`.
    func otherText(of text: String, in table: String, _ db: Database) throws -> String? {
        let type: String
        switch self {
        case .numeric: type = "NUMERIC"
        case .real: type = "REAL"
        case .text: return nil
        }
        let statement = try PreparedStatement(db, sql: "SELECT \(Self.converted(to: type))")
        defer { statement.reset() }
        try statement.bind(id: text, at: 1, in: table)
        guard try statement.step(), statement.storedID(with: text, at: 0) == nil else { return nil }
        return statement.text(ofNumberAt: 0) ?? statement.string(at: 0)
    }

    /// The first parameter as a column with a numeric affinity stores it.
    ///
    /// CAST makes 12 of `12a`, which a column leaves as it is; but a comparison with the result converts as the column does.
    static func converted(to type: String) -> String {
        "CASE WHEN CAST(?1 AS NUMERIC) = ?1 THEN CAST(?1 AS \(type)) ELSE ?1 END"
    }
}
