import MySQLBinlog
import NIOCore
import PowerSyncMySQLConnection

/// What the server makes of values of keys that the log has in forms that only the server reads: texts in charsets such as `gbk`.
///
/// A key has to be known before a row can be stored or read. Other columns are read from the table instead.
struct KeyConversions: Sendable {
    /// The most conversions that are kept between two events (``forgetIfMany()``).
    private static let capacity = 4096
    /// The most conversions that one query asks for.
    private static let perQuery = 500

    private var known: [DeferredCell: MySQLCell] = [:]

    /// The cell that the server has made of a deferred one; other cells as they are.
    ///
    /// - Returns: The cell; `nil` for one that is not converted.
    func cell(_ cell: MySQLCell) -> MySQLCell? {
        guard case .deferred(let deferred) = cell else { return cell }
        return known[deferred]
    }

    /// Asks the server for what is not known yet; what it cannot convert stays deferred.
    ///
    /// - Parameters:
    ///   - cells: Cells of keys.
    ///   - connection: A connection.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    mutating func add(_ cells: Set<DeferredCell>, _ connection: MySQLConnection) async throws {
        let asked = cells.filter { known[$0] == nil }.compactMap { cell in
            Self.expression(cell).map { (cell: cell, sql: $0) }
        }
        for start in stride(from: 0, to: asked.count, by: Self.perQuery) {
            let part = Array(asked[start..<min(start + Self.perQuery, asked.count)])
            if try await ask(part, connection) { continue }
            // One of them is no text in its charset.
            for one in part { _ = try await ask([one], connection) }
        }
    }

    /// Forgets all when there are too many; not while an event is read, which needs all of its own.
    mutating func forgetIfMany() {
        if known.count > Self.capacity { known = [:] }
    }

    /// - Returns: Whether the server has answered, and not refused.
    private mutating func ask(
        _ part: [(cell: DeferredCell, sql: String)],
        _ connection: MySQLConnection
    ) async throws -> Bool {
        do {
            let answer = try await connection.query("SELECT \(part.map(\.sql).joined(separator: ", "))")
            for (one, value) in zip(part, answer.rows.first?.values ?? []) {
                if let value { known[one.cell] = .text(String(buffer: value)) }
            }
            return true
        } catch let error as MySQLConnectionError where error.code == .server {
            return false
        }
    }

    /// The expression for a value; `nil` for one that has no bytes to convert.
    private static func expression(_ cell: DeferredCell) -> String? {
        switch cell {
        // The name is one of the server's; it is an identifier all the same.
        case .text(let bytes, let charset) where charset.utf8.allSatisfy(\.isNameCharacter):
            "CONVERT(_\(charset) X'\(MySQLKeyLiteral.hex(bytes))' USING utf8mb4)"
        case .text, .differences, .form: nil
        }
    }
}

extension UInt8 {
    fileprivate var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
