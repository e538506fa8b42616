/// A value of a row, as the server keeps it.
///
/// The log and the text protocol give the same cell for the same value.
package enum MySQLCell: Sendable, Hashable {
    /// `NULL`.
    case null
    /// An integer with a sign, a `YEAR`, where `0000` is 0, or an unsigned integer up to 2⁶³ − 1.
    case integer(Int64)
    /// An unsigned integer above 2⁶³ − 1.
    case unsigned(UInt64)
    /// A `FLOAT`.
    case float(Float)
    /// A `DOUBLE`.
    case double(Double)
    /// A `DECIMAL` as the server prints it, with all digits of the scale: `-12.50`.
    case decimal(String)
    /// A `DATE`.
    case date(MySQLDate)
    /// A `DATETIME`, or a `TIMESTAMP` in UTC; that of zero is `0000-00-00 00:00:00`.
    case dateTime(MySQLDateTime)
    /// A `TIME`.
    case time(MySQLTime)
    /// A text: `CHAR` without spaces at the end, `VARCHAR`, `TEXT`, JSON of MariaDB, `UUID`, `INET4`, `INET6`.
    case text(String)
    /// Bytes: `BIT` big endian, `BINARY` filled up, `VARBINARY`, `BLOB`, `GEOMETRY` with its SRID, `VECTOR`.
    case bytes([UInt8])
    /// The label of an `ENUM`; of number 0 the empty text.
    case label(String)
    /// The labels of a `SET`, in the order of the definition.
    case labels([String])
    /// A document of MySQL's JSON, as `SELECT` gives it: `{"a": 1}`.
    case json(String)
    /// A value that has to be read from the table: it changed, or is new, and the log does not have it in a form that this
    /// version reads.
    case deferred(DeferredCell)
}

/// What the log has of a value that has to be read from the table.
package enum DeferredCell: Sendable, Hashable {
    /// A text in a charset that the server has to convert: `CONVERT(_gbk X'…' USING utf8mb4)`.
    case text([UInt8], charset: String)
    /// The differences to the document before.
    case differences
    /// A form that this version does not read.
    case form
}
