import Foundation
import PowerSyncSQLite

/// Values of internal tables, into which any program may have written anything.
extension Inspection {
    /// An integer; a value of another type is noted.
    ///
    /// - Parameters:
    ///   - row: A statement at a row.
    ///   - index: The column of the query.
    ///   - column: Table and column, for the note.
    ///   - key: What names the row, for the note.
    /// - Returns: `nil` for NULL and for what was noted.
    mutating func integer(_ row: PreparedStatement, _ index: CInt, _ column: String, of key: String) -> Int64? {
        switch row.storageClass(at: index) {
        case .integer: return row.integer(at: index)
        case .null: return nil
        case .real: note(column, of: key, holds: "a real number")
        case .text: note(column, of: key, holds: "text")
        case .blob: note(column, of: key, holds: "a blob")
        }
        return nil
    }

    /// An integer that must be there; 0 when it is not, which is noted.
    mutating func required(_ row: PreparedStatement, _ index: CInt, _ column: String, of key: String) -> Int64 {
        if row.isNull(at: index) { note(column, of: key, holds: "NULL") }
        return integer(row, index, column, of: key) ?? 0
    }

    /// The low 32 bits of a number, which is what counts of checksums.
    mutating func checksum(_ row: PreparedStatement, _ index: CInt, _ column: String, of key: String) -> UInt32 {
        UInt32(truncatingIfNeeded: required(row, index, column, of: key))
    }

    /// A time that is stored as a number.
    ///
    /// - Parameters:
    ///   - row: A statement at a row.
    ///   - index: The column of the query.
    ///   - unit: How many of them are a second.
    ///   - column: Table and column, for the note.
    ///   - key: What names the row, for the note.
    /// - Returns: `nil` for NULL and for what was noted.
    mutating func time(
        _ row: PreparedStatement,
        _ index: CInt,
        per unit: Double,
        _ column: String,
        of key: String
    ) -> Date? {
        guard let number = integer(row, index, column, of: key) else { return nil }
        return Date(inFile: Double(number) / unit)
    }

    /// A time that is stored as text in UTC, `2026-11-22 18:44:46`; another text is noted.
    mutating func time(text: String?, _ column: String, of key: String) -> Date? {
        guard let text else { return nil }
        let date = try? Date(
            text,
            strategy: Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
                .year().month().day().time(includingFractionalSeconds: false)
        )
        if date == nil { note(column, of: key, holds: "a text that is no time") }
        return date
    }
}

extension Date {
    /// A time in a file, in seconds since 1970; what no calendar has becomes the end of the year 9999, or the year 1.
    init(inFile seconds: Double) {
        self.init(timeIntervalSince1970: min(max(seconds, -62_135_596_800), 253_402_300_799))
    }

    /// The time as the reports have it: `2026-11-22 18:44:46Z`.
    var inReports: String {
        formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
                .year().month().day().timeZone(separator: .omitted).time(includingFractionalSeconds: false)
        )
    }
}
