/// The type of a column, as `COLUMN_TYPE` of `information_schema.COLUMNS` declares it: `int(10) unsigned`, `enum('a','b')`.
///
/// JSON of MariaDB is `longtext` there, and so it is here.
package struct MySQLColumnType: Sendable, Hashable {
    /// What the values are.
    package enum Kind: Sendable, Hashable {
        /// `TINYINT` to `BIGINT`, with the number of bytes: 1, 2, 3, 4 or 8.
        case integer(bytes: Int)
        case float
        case double
        /// `DECIMAL(precision, scale)`.
        case decimal(precision: Int, scale: Int)
        /// `BIT(count)`.
        case bit(count: Int)
        case year
        case date
        /// `TIME`, `DATETIME` and `TIMESTAMP` with 0 to 6 digits of fractions of seconds.
        case time(digits: Int)
        case dateTime(digits: Int)
        case timestamp(digits: Int)
        /// `CHAR(length)`: up to so many characters, without spaces at the end.
        case char(length: Int)
        /// `VARCHAR(length)`.
        case varchar(length: Int)
        /// `TINYTEXT` to `LONGTEXT`.
        case text
        /// `BINARY(length)`: exactly so many bytes.
        case binary(length: Int)
        /// `VARBINARY(length)`.
        case varbinary(length: Int)
        /// `TINYBLOB` to `LONGBLOB`.
        case blob
        /// The labels, in the order of their numbers, which begin with 1.
        case enumeration([String])
        /// The labels, in the order of their bits, from the lowest.
        case set([String])
        /// Of MySQL.
        case json
        /// `GEOMETRY`, `POINT` and the other kinds.
        case geometry
        case vector
        case uuid
        case inet4
        case inet6
        /// A type that this version does not know.
        case unknown
    }

    /// What the values are.
    package var kind: Kind
    /// Whether a number has no sign.
    package var isUnsigned: Bool

    /// A type.
    package init(_ kind: Kind, isUnsigned: Bool = false) {
        self.kind = kind
        self.isUnsigned = isUnsigned
    }
}
