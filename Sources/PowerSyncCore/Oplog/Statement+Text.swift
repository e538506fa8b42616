import GRDB
import GRDBSQLite

extension Statement {
    /// Whether the statement was prepared from exactly this text.
    ///
    /// GRDB's cache takes texts for equal that only differ in composed and decomposed letters, which may name different
    /// tables. `Statement.sql` is not compared, since it makes a new text each time.
    func isPrepared(from sql: String) -> Bool {
        guard let text = sqlite3_sql(sqliteStatement) else { return false }
        var sql = sql
        return sql.withUTF8 { bytes in
            // The text ends at its first NUL, and so does the comparison.
            for index in bytes.indices where text[index] == 0 || UInt8(bitPattern: text[index]) != bytes[index] {
                return false
            }
            return text[bytes.count] == 0
        }
    }
}
