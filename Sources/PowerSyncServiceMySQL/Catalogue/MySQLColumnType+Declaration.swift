import MySQLBinlog

extension MySQLColumnType {
    /// Reads `COLUMN_TYPE` of `information_schema.COLUMNS`.
    ///
    /// ```
    /// int(10) unsigned    decimal(10,2)    datetime(3)    varchar(10) /*M!100301 COMPRESSED*/    enum('a','it''s','b\\c')
    /// ```
    ///
    /// Labels have a quote doubled, and a backslash, a line feed, a carriage return and a zero byte as in a statement.
    ///
    /// - Parameter declaration: The text; of a type that is not known, the kind is ``Kind/unknown``.
    init(declaration: String) {
        let text = declaration[...]
        let nameEnd = text.firstIndex { !($0.isLetter || $0.isNumber || $0 == "_") } ?? text.endIndex
        let name = text[..<nameEnd].lowercased()
        let rest = text[nameEnd...]
        let numbers = Self.numbers(rest)
        let length = numbers.first ?? 1
        let digits = numbers.first ?? 0
        let kind: Kind =
            switch name {
            case "tinyint": .integer(bytes: 1)
            case "smallint": .integer(bytes: 2)
            case "mediumint": .integer(bytes: 3)
            case "int", "integer": .integer(bytes: 4)
            case "bigint": .integer(bytes: 8)
            case "float": .float
            case "double": .double
            case "decimal": .decimal(precision: numbers.first ?? 10, scale: numbers.dropFirst().first ?? 0)
            case "bit": .bit(count: length)
            case "year": .year
            case "date": .date
            case "time": .time(digits: digits)
            case "datetime": .dateTime(digits: digits)
            case "timestamp": .timestamp(digits: digits)
            case "char": .char(length: length)
            case "varchar": .varchar(length: length)
            case "tinytext", "text", "mediumtext", "longtext": .text
            case "binary": .binary(length: length)
            case "varbinary": .varbinary(length: length)
            case "tinyblob", "blob", "mediumblob", "longblob": .blob
            case "enum": .enumeration(Self.labels(rest))
            case "set": .set(Self.labels(rest))
            case "json": .json
            case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
                "geometrycollection", "geomcollection":
                .geometry
            case "vector": .vector
            case "uuid": .uuid
            case "inet4": .inet4
            case "inet6": .inet6
            default: .unknown
            }
        let words = rest.lowercased().split { !$0.isLetter }
        // ZEROFILL implies UNSIGNED, and both are printed.
        self.init(kind, isUnsigned: Self.isNumber(kind) && words.contains("unsigned"))
    }

    private static func isNumber(_ kind: Kind) -> Bool {
        switch kind {
        case .integer, .float, .double, .decimal: true
        default: false
        }
    }

    /// The numbers in the parentheses right behind the name.
    private static func numbers(_ rest: Substring) -> [Int] {
        guard rest.first == "(", let end = rest.firstIndex(of: ")") else { return [] }
        return rest[..<end].dropFirst().split(separator: ",").compactMap { Int($0) }
    }

    /// The quoted texts in the parentheses right behind the name.
    private static func labels(_ rest: Substring) -> [String] {
        var labels: [String] = []
        var label: String.UnicodeScalarView?
        var scalars = rest.dropFirst().unicodeScalars[...]
        while let scalar = scalars.popFirst() {
            guard label != nil else {
                if scalar == ")" { break }
                if scalar == "'" { label = .init() }
                continue
            }
            switch scalar {
            case "'" where scalars.first == "'":
                scalars.removeFirst()
                label?.append("'")
            case "'":
                labels.append(label.map { String($0) } ?? "")
                label = nil
            case "\\":
                guard let escaped = scalars.popFirst() else { break }
                label?.append(unescaped(escaped))
            default:
                label?.append(scalar)
            }
        }
        return labels
    }

    private static func unescaped(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar {
        case "0": "\0"
        case "n": "\n"
        case "r": "\r"
        default: scalar
        }
    }
}
