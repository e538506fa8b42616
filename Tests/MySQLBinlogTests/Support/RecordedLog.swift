import Foundation
import MySQLBinlog
import NIOCore
import Testing

/// A log file of a server, with what `SELECT` gave at its end; `Tests/Fixtures/MySQL/README.md` says what they are.
struct RecordedLog: CustomTestStringConvertible, Sendable {
    /// A table, as the catalogue described it and with its rows as text, `nil` for `NULL`.
    struct Table: Sendable {
        var columns: [ColumnDescription] = []
        var rows: [[String?]] = []
    }

    /// An event, as `SHOW BINLOG EVENTS` listed it.
    struct Listed: Equatable, Sendable {
        var start: UInt64
        var name: String
        var end: UInt64
    }

    let server: String
    let name: String

    var testDescription: String { "\(server)/\(name)" }

    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/MySQL")

    /// All that were recorded.
    static let all: [RecordedLog] = {
        let servers = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return servers.sorted().flatMap { server in
            let files =
                (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: server).path())) ?? []
            return files.sorted().filter { $0.hasSuffix(".binlog") }
                .map { RecordedLog(server: server, name: String($0.dropLast(".binlog".count))) }
        }
    }()

    static func named(_ name: String) -> [RecordedLog] { all.filter { $0.name == name } }

    private func lines(of name: String) throws -> [[String]] {
        let file = Self.folder.appending(path: "\(server)/\(name).expected")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: true)
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }

    /// The tables at the end of the log.
    func tables() throws -> [String: Table] {
        var tables: [String: Table] = [:]
        var table = ""
        for line in try lines(of: name == "types-full" ? "types" : name) {
            switch line[0] {
            case let first where first.hasPrefix("table "):
                table = String(first.dropFirst("table ".count))
                tables[table] = Table()
            case "column":
                tables[table]?.columns.append(
                    ColumnDescription(
                        name: line[1],
                        type: MySQLColumnType(recorded: line[3]),
                        charset: line[2] == "-" ? nil : MySQLCharset(name: line[2])
                    )
                )
            case "row": tables[table]?.rows.append(line.dropFirst().map { $0 == "NULL" ? nil : Self.unescaped($0) })
            default: break
            }
        }
        return tables
    }

    /// The events of the log.
    func listed() throws -> [Listed] {
        try lines(of: name).drop { $0[0] != "events" }.dropFirst().map {
            Listed(start: UInt64($0[0]) ?? 0, name: $0[1], end: UInt64($0[2]) ?? 0)
        }
    }

    /// The bytes of each event.
    func events() throws -> [ByteBuffer] {
        let file = try Data(contentsOf: Self.folder.appending(path: "\(server)/\(name).binlog"))
        var bytes = ByteBuffer(bytes: file)
        bytes.moveReaderIndex(forwardBy: 4)
        var events: [ByteBuffer] = []
        while let size = bytes.getInteger(at: bytes.readerIndex + 9, endianness: .little, as: UInt32.self),
            let event = bytes.readSlice(length: Int(size))
        {
            // With memory of its own, so that a read beyond its end is one beyond the memory.
            events.append(ByteBuffer(bytes: event.readableBytesView))
        }
        return events
    }

    /// The client writes a line feed, a tabulator, a backslash and a zero byte like this.
    private static func unescaped(_ text: String) -> String {
        var result = ""
        var characters = text.unicodeScalars[...]
        while let character = characters.popFirst() {
            guard character == "\\", let next = characters.popFirst() else {
                result.unicodeScalars.append(character)
                continue
            }
            switch next {
            case "n": result += "\n"
            case "t": result += "\t"
            case "0": result += "\0"
            default: result.unicodeScalars.append(next)
            }
        }
        return result
    }

    /// The charsets of the collations that the logs name.
    static func charset(_ collation: UInt32) -> MySQLCharset? {
        switch collation {
        case 8: .latin1
        case 11: .ascii
        case 13: .other("sjis")
        case 28: .other("gbk")
        case 33, 2048: .utf8mb3
        case 35, 2560: .ucs2
        case 45, 46, 255, 2304: .utf8mb4
        case 51: .other("cp1251")
        case 54, 2816: .utf16
        case 56: .utf16le
        case 60, 3072: .utf32
        case 63: .binary
        default: nil
        }
    }
}

extension MySQLColumnType {
    /// The types that were recorded.
    fileprivate init(recorded text: String) {
        let name = text.prefix { $0.isLetter || $0.isNumber }
        let arguments = text.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }
        let numbers = arguments.split(separator: ",").compactMap { Int($0) }
        let first = numbers.first ?? 0
        let labels = arguments.split(separator: ",", omittingEmptySubsequences: false).map {
            String($0.dropFirst().dropLast())
        }
        // One label of the logs has a comma in it, and one a quote.
        let whole = text.contains("a,b'") ? ["x", "it's", "a,b", "", " c"] : labels
        let kind: Kind =
            switch name {
            case "tinyint": .integer(bytes: 1)
            case "smallint": .integer(bytes: 2)
            case "mediumint": .integer(bytes: 3)
            case "int": .integer(bytes: 4)
            case "bigint": .integer(bytes: 8)
            case "float": .float
            case "double": .double
            case "decimal": .decimal(precision: first, scale: numbers.last ?? 0)
            case "bit": .bit(count: first)
            case "year": .year
            case "date": .date
            case "time": .time(digits: first)
            case "datetime": .dateTime(digits: first)
            case "timestamp": .timestamp(digits: first)
            case "char": .char(length: first)
            case "varchar": .varchar(length: first)
            case "binary": .binary(length: first)
            case "varbinary": .varbinary(length: first)
            case "enum": .enumeration(whole)
            case "set": .set(whole)
            case "json": .json
            case "point", "geometry": .geometry
            case "vector": .vector
            case "uuid": .uuid
            case "inet4": .inet4
            case "inet6": .inet6
            case let name where name.hasSuffix("text"): .text
            case let name where name.hasSuffix("blob"): .blob
            default: .unknown
            }
        self.init(kind, isUnsigned: text.contains("unsigned"))
    }
}
