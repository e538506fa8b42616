/// How the values of a column are written in a row.
///
/// Integers are little endian but for fractions, `BIT`, `DECIMAL` and the types of time with digits.
enum CellForm: Sendable {
    /// 1, 2, 3, 4 or 8 bytes.
    case signed(bytes: Int)
    case unsigned(bytes: Int)
    /// IEEE, 4 and 8 bytes.
    case float
    case double
    /// One byte: 0, or the years since 1900.
    case year
    /// 3 bytes: 15 bits of the year, 4 of the month, 5 of the day.
    case date
    /// The forms before MySQL 5.6, without fractions: 3 bytes `hhmmss` in decimal, 8 bytes `yyyymmddhhmmss`, 4 bytes of seconds.
    case oldTime
    case oldDateTime
    case oldTimestamp
    /// The forms since.
    case time(digits: Int)
    case dateTime(digits: Int)
    case timestamp(digits: Int)
    case decimal(DecimalForm)
    /// As many bytes, big endian.
    case bit(bytes: Int)
    /// The number of a label, 0 for none.
    case enumeration(bytes: Int, [String])
    /// A bit for each label.
    case set(bytes: Int, [String])
    /// A length of 1 to 4 bytes, and as many bytes.
    case counted(lengthBytes: Int, CellContent)
    /// As many bytes, in a form that is not read.
    case unread(bytes: Int)
}

/// What the bytes of a text and its kin are.
enum CellContent: Sendable {
    case text(MySQLCharset)
    /// Bytes, which the log has without zeros at the end: they are filled up to a size, 0 for none.
    case bytes(filledTo: Int)
    case json
    case uuid
    case inet4
    case inet6
    /// In a form that is not read.
    case unread
}

extension CellForm {
    /// Values above are read from the table: 64 MiB.
    static let largest = 64 << 20

    /// How a column is written; `nil` for a type whose values cannot even be passed over.
    ///
    /// - Parameters:
    ///   - column: What the log says of it.
    ///   - description: What the catalogue says; it fits.
    ///   - charset: The charset of a collation.
    init?(
        _ column: LoggedColumn,
        as description: ColumnDescription,
        charset: (UInt32) -> MySQLCharset?
    ) {
        switch column.type {
        case .tiny: self = .integer(bytes: 1, description)
        case .short: self = .integer(bytes: 2, description)
        case .int24: self = .integer(bytes: 3, description)
        case .long: self = .integer(bytes: 4, description)
        case .longlong: self = .integer(bytes: 8, description)
        case .float: self = .float
        case .double: self = .double
        case .year: self = .year
        case .date: self = .date
        case .time: self = description.type.digits.flatMap(Self.oldTime(digits:)) ?? .oldTime
        case .dateTime: self = description.type.digits.flatMap(Self.oldDateTime(digits:)) ?? .oldDateTime
        case .timestamp: self = description.type.digits.flatMap(Self.oldTimestamp(digits:)) ?? .oldTimestamp
        case .time2:
            guard column.metadata <= 6 else { return nil }
            self = .time(digits: column.metadata)
        case .dateTime2:
            guard column.metadata <= 6 else { return nil }
            self = .dateTime(digits: column.metadata)
        case .timestamp2:
            guard column.metadata <= 6 else { return nil }
            self = .timestamp(digits: column.metadata)
        case .newDecimal:
            guard let form = DecimalForm(precision: column.metadata >> 8, scale: column.metadata & 0xff) else {
                return nil
            }
            self = .decimal(form)
        case .bit: self = .bit(bytes: (column.metadata + 7) / 8)
        case .enumeration:
            guard 1...2 ~= column.metadata else { return nil }
            self = .enumeration(bytes: column.metadata, description.type.labels)
        case .set:
            guard 1...8 ~= column.metadata else { return nil }
            self = .set(bytes: column.metadata, description.type.labels)
        case .varchar, .varString, .string:
            self = .counted(
                lengthBytes: column.metadata < 256 ? 1 : 2,
                CellContent(column, description, charset: charset)
            )
        case .varcharCompressed: self = .counted(lengthBytes: column.metadata < 256 ? 1 : 2, .unread)
        case .blob, .geometry, .vector, .json, .blobCompressed:
            guard 1...4 ~= column.metadata else { return nil }
            self = .counted(lengthBytes: column.metadata, CellContent(column, description, charset: charset))
        default: return nil
        }
    }

    private static func integer(bytes: Int, _ description: ColumnDescription) -> Self {
        description.type.isUnsigned ? .unsigned(bytes: bytes) : .signed(bytes: bytes)
    }

    /// MariaDB with `mysql56_temporal_format=OFF` has forms of its own for types with fractions, of which the log does not tell.
    private static func oldTime(digits: Int) -> Self? {
        1...6 ~= digits ? .unread(bytes: [3, 4, 4, 5, 5, 5, 6][digits]) : nil
    }

    private static func oldDateTime(digits: Int) -> Self? {
        1...6 ~= digits ? .unread(bytes: [5, 6, 6, 7, 7, 7, 8][digits]) : nil
    }

    private static func oldTimestamp(digits: Int) -> Self? {
        1...6 ~= digits ? .unread(bytes: [4, 5, 5, 6, 6, 7, 7][digits]) : nil
    }
}

extension MySQLColumnType {
    /// The digits of fractions of seconds; `nil` for types without.
    fileprivate var digits: Int? {
        switch kind {
        case .time(let digits), .dateTime(let digits), .timestamp(let digits): digits
        default: nil
        }
    }

    /// The labels of an `ENUM` or a `SET`.
    fileprivate var labels: [String] {
        switch kind {
        case .enumeration(let labels), .set(let labels): labels
        default: []
        }
    }
}

extension CellContent {
    fileprivate init(_ column: LoggedColumn, _ description: ColumnDescription, charset: (UInt32) -> MySQLCharset?) {
        switch (column.type, description.type.kind) {
        case (.blobCompressed, _): self = .unread
        case (.json, _): self = .json
        case (_, .uuid): self = .uuid
        case (_, .inet4): self = .inet4
        case (_, .inet6): self = .inet6
        case (_, .binary(let length)): self = .bytes(filledTo: length)
        case (_, .char), (_, .varchar), (_, .text):
            let known = column.collation.map { charset($0) ?? .other("") } ?? description.charset ?? .other("")
            self = known == .binary ? .bytes(filledTo: 0) : .text(known)
        default: self = .bytes(filledTo: 0)
        }
    }
}

// MARK: - Reading

extension CellForm {
    /// Reads a value.
    func read(_ cursor: inout ByteCursor) throws(BinlogFault) -> MySQLCell {
        switch self {
        case .signed(let width):
            let value = try cursor.unsigned("integer", bytes: width)
            let shift = UInt64(64 - 8 * width)
            return .integer(Int64(bitPattern: value << shift) >> Int64(shift))
        case .unsigned(let width):
            let value = try cursor.unsigned("integer", bytes: width)
            return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
        case .float: return .float(Float(bitPattern: try cursor.integer("float")))
        case .double: return .double(Double(bitPattern: try cursor.integer("double")))
        case .year:
            let value = try cursor.byte("year")
            return .integer(value == 0 ? 0 : 1900 + Int64(value))
        case .date: return .temporal(MySQLDate(packed: Int(try cursor.unsigned("date", bytes: 3))))
        case .oldTime: return .temporal(MySQLTime(decimal: try cursor.unsigned("time", bytes: 3)))
        case .oldDateTime: return .temporal(MySQLDateTime(decimal: try cursor.integer("time")))
        case .oldTimestamp:
            return .temporal(MySQLDateTime(seconds: try cursor.integer("time"), microsecond: 0, digits: 0))
        case .time(let digits):
            return .temporal(
                MySQLTime(packed: try cursor.bigEndian("time", bytes: 3 + (digits + 1) / 2), digits: digits)
            )
        case .dateTime(let digits):
            let packed = try cursor.bigEndian("time", bytes: 5)
            let fraction = try cursor.fraction(digits: digits)
            return .temporal(MySQLDateTime(packed: packed, microsecond: fraction, digits: digits))
        case .timestamp(let digits):
            let seconds = UInt32(try cursor.bigEndian("time", bytes: 4))
            let fraction = try cursor.fraction(digits: digits)
            return .temporal(MySQLDateTime(seconds: seconds, microsecond: fraction, digits: digits))
        case .decimal(let form): return try form.read(&cursor).map { .decimal($0) } ?? .deferred(.form)
        case .bit(let width): return .bytes(try cursor.array("bits", width))
        case .enumeration(let width, let labels):
            let number = try cursor.unsigned("number of a label", bytes: width)
            if number == 0 { return .label("") }
            // The table has other labels now.
            guard number <= UInt64(labels.count) else { return .deferred(.form) }
            return .label(labels[Int(number) - 1])
        case .set(let width, let labels):
            let mask = try cursor.unsigned("set", bytes: width)
            guard mask == 0 || 63 - mask.leadingZeroBitCount < labels.count else { return .deferred(.form) }
            return .labels(labels.indices.filter { $0 < 64 && mask >> UInt64($0) & 1 != 0 }.map { labels[$0] })
        case .counted(let lengthBytes, let content):
            let length = try cursor.unsigned("length", bytes: lengthBytes)
            guard length <= UInt64(cursor.count) else { throw BinlogFault("length", .impossible(length)) }
            return try content.read(&cursor, Int(length))
        case .unread(let width):
            try cursor.skip("value", width)
            return .deferred(.form)
        }
    }

    /// Passes over a value.
    func skip(_ cursor: inout ByteCursor) throws(BinlogFault) {
        switch self {
        case .signed(let width), .unsigned(let width), .bit(let width), .enumeration(let width, _), .set(let width, _),
            .unread(let width):
            try cursor.skip("value", width)
        case .float, .oldTimestamp: try cursor.skip("value", 4)
        case .double, .oldDateTime: try cursor.skip("value", 8)
        case .year: try cursor.skip("value", 1)
        case .date, .oldTime: try cursor.skip("value", 3)
        case .time(let digits): try cursor.skip("value", 3 + (digits + 1) / 2)
        case .dateTime(let digits): try cursor.skip("value", 5 + (digits + 1) / 2)
        case .timestamp(let digits): try cursor.skip("value", 4 + (digits + 1) / 2)
        case .decimal(let form): try cursor.skip("value", form.bytes)
        case .counted(let lengthBytes, _):
            let length = try cursor.unsigned("length", bytes: lengthBytes)
            guard length <= UInt64(cursor.count) else { throw BinlogFault("length", .impossible(length)) }
            try cursor.skip("value", Int(length))
        }
    }
}

extension CellContent {
    /// The bytes that a value has, zeros at the end included; `nil` where they differ.
    private var size: Int? {
        switch self {
        case .uuid, .inet6: 16
        case .inet4: 4
        case .text, .bytes, .json, .unread: nil
        }
    }

    fileprivate func read(_ cursor: inout ByteCursor, _ length: Int) throws(BinlogFault) -> MySQLCell {
        guard length <= CellForm.largest else {
            try cursor.skip("value", length)
            return .deferred(.form)
        }
        if let size, length > size { throw BinlogFault("length", .impossible(UInt64(length))) }
        switch self {
        case .text(let charset): return try charset.read(&cursor, length)
        case .bytes(let size): return .bytes(try cursor.array("bytes", length, filledTo: size))
        case .json:
            if length == 0 { return .json("null") }
            let document = try cursor.part("document", length)
            // The server knows what its documents are, whatever this version makes of one.
            return (try? BinaryJSON.text(document)).map { .json($0) } ?? .deferred(.form)
        case .uuid: return .text(AddressText.uuid(try cursor.array("UUID", length, filledTo: 16)))
        case .inet4: return .text(AddressText.inet4(try cursor.array("address", length, filledTo: 4)))
        case .inet6: return .text(AddressText.inet6(try cursor.array("address", length, filledTo: 16)))
        case .unread:
            try cursor.skip("value", length)
            return .deferred(.form)
        }
    }
}

extension MySQLCell {
    // A value that cannot be in the type, as no server writes it, is read from the table.
    fileprivate static func temporal(_ date: MySQLDate?) -> Self { date.map { .date($0) } ?? .deferred(.form) }
    fileprivate static func temporal(_ time: MySQLDateTime?) -> Self { time.map { .dateTime($0) } ?? .deferred(.form) }
    fileprivate static func temporal(_ time: MySQLTime?) -> Self { time.map { .time($0) } ?? .deferred(.form) }
}

extension ByteCursor {
    /// A fraction of a second, in microseconds: 1 byte of hundredths, 2 of ten-thousandths or 3 of millionths, big endian.
    fileprivate mutating func fraction(digits: Int) throws(BinlogFault) -> Int {
        let width = (digits + 1) / 2
        let fraction = Int(try bigEndian("fraction", bytes: width))
        return switch width {
        case 1: fraction * 10000
        case 2: fraction * 100
        default: fraction
        }
    }
}
