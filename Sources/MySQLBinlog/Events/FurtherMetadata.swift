/// What a `TABLE_MAP` says of columns behind the types and their metadata, as the setting `binlog_row_metadata` wants it.
///
/// It is fields of a type u8, a length and a value. Numbers are length-encoded.
///
/// | Type | Value |
/// |---|---|
/// | 1 | a bit per numeric column, the highest of a byte first: whether it has no sign |
/// | 2, 10 | the collation of most text columns, or `ENUM` and `SET` columns; then pairs of the index of another, and its collation |
/// | 3, 11 | the collation of each of them |
/// | 4 | the name of each column, with its length |
/// | 5, 6 | of each `SET` column, or `ENUM` column, the number of labels, and each with its length |
///
/// Other types are not needed.
struct FurtherMetadata {
    private(set) var columns: [LoggedColumn]
    private let flavour: MySQLFlavour?

    init(_ columns: [LoggedColumn], _ flavour: MySQLFlavour?) {
        self.columns = columns
        self.flavour = flavour
    }

    mutating func read(_ type: UInt8, _ value: ByteCursor) throws(BinlogFault) {
        var value = value
        switch type {
        case 1: try readSigns(&value)
        case 2: try readDefaultCollation(&value) { [flavour] in $0.isText(flavour) }
        case 3: try readCollations(&value) { [flavour] in $0.isText(flavour) }
        case 4: try readNames(&value)
        case 5: try readLabels(&value, of: .set)
        case 6: try readLabels(&value, of: .enumeration)
        case 10: try readDefaultCollation(&value) { $0.isLabelled }
        case 11: try readCollations(&value) { $0.isLabelled }
        default: break
        }
    }

    private mutating func readSigns(_ value: inout ByteCursor) throws(BinlogFault) {
        let numeric = columns.indices.filter { columns[$0].isNumeric }
        for (number, index) in numeric.enumerated() {
            // The bits of a byte begin with the highest.
            if number % 8 == 0, number > 0 { try value.skip("signs", 1) }
            columns[index].isUnsigned = try value.peek("signs") >> UInt8(7 - number % 8) & 1 != 0
        }
    }

    private mutating func readDefaultCollation(
        _ value: inout ByteCursor,
        _ isMeant: (LoggedColumn) -> Bool
    ) throws(BinlogFault) {
        let common = try value.collation()
        let meant = columns.indices.filter { isMeant(columns[$0]) }
        for index in meant { columns[index].collation = common }
        while value.count > 0 {
            let number = try value.lengthEncoded("column of a collation")
            guard number < UInt64(meant.count) else { throw BinlogFault("column of a collation", .impossible(number)) }
            columns[meant[Int(number)]].collation = try value.collation()
        }
    }

    private mutating func readCollations(
        _ value: inout ByteCursor,
        _ isMeant: (LoggedColumn) -> Bool
    ) throws(BinlogFault) {
        for index in columns.indices where isMeant(columns[index]) { columns[index].collation = try value.collation() }
    }

    private mutating func readNames(_ value: inout ByteCursor) throws(BinlogFault) {
        for index in columns.indices {
            columns[index].name = try value.repairedText("name", try value.length("length of a name"))
        }
    }

    private mutating func readLabels(_ value: inout ByteCursor, of type: BinlogColumnType) throws(BinlogFault) {
        for index in columns.indices where columns[index].type == type {
            var labels: [[UInt8]] = []
            // Each label has at least the byte of its length.
            for _ in 0..<(try value.length("number of labels")) {
                labels.append(try value.array("label", try value.length("length of a label")))
            }
            columns[index].labels = labels
        }
    }
}

extension ByteCursor {
    fileprivate mutating func collation() throws(BinlogFault) -> UInt32 {
        let number = try lengthEncoded("collation")
        guard let collation = UInt32(exactly: number) else { throw BinlogFault("collation", .impossible(number)) }
        return collation
    }
}

extension LoggedColumn {
    fileprivate var isNumeric: Bool {
        switch type {
        case .tiny, .short, .int24, .long, .longlong, .float, .double, .newDecimal, .year: true
        default: false
        }
    }

    /// Whether it has a collation: MySQL counts `VECTOR` among such columns, and MariaDB the spatial types.
    fileprivate func isText(_ flavour: MySQLFlavour?) -> Bool {
        switch type {
        case .varchar, .varString, .string, .blob, .varcharCompressed, .blobCompressed: true
        case .vector: flavour == .mysql
        case .geometry: flavour == .mariadb
        default: false
        }
    }

    fileprivate var isLabelled: Bool { type == .enumeration || type == .set }
}
