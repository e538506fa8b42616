import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// The text of doubles in the rows of data tables, such that SQLite reads exactly the double that was written.
///
/// The shortest text that names a double (`0.1`, `1e21`) does for every correct reader, the upload queue's among them. SQLite
/// is not always one: versions before 3.43 convert in the precision of the machine's `long double`, and now and then read the
/// neighbour of the double that a text names when that lies near the middle between two. More digits move the text to the
/// double's own place, far from any middle. So each text is tried on the SQLite that is there, and the first of
///
/// ```
/// shortest form      0.1
/// 17 digits          1.0000000000000001e-01
/// 18, 19 digits, …   1.00000000000000006e-01
/// ```
///
/// that it reads as the double is stored. All of them name the same double.
///
/// Trying a text takes a part of a microsecond, and is done only where it can fail; the last texts are remembered. So a number
/// that goes into a row and into its queue entry is written out once.
///
/// `@safe`: the ``ConnectionState`` owns it, which lives no longer than the connection.
@safe final class DoubleText {
    private struct Remembered {
        var bits: UInt64 = 0
        var shortest = "0.0"
        /// The text that this SQLite reads as the double; `nil` before it was asked.
        var readable: String? = "0.0"
    }

    /// No text of an app's: its statement may be running when this one does.
    private static let readSQL = "SELECT CAST(?1 AS REAL) -- PowerSync"

    private let handle: OpaquePointer
    /// GRDB's view of the connection, `nil` when there is none.
    weak var database: Database?
    /// Texts of doubles, each at the place that the bits of the double name.
    private var remembered = [Remembered](repeating: Remembered(), count: 256)

    init(handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    /// The text to store in a row.
    ///
    /// - Parameter value: A finite number.
    /// - Returns: A JSON number.
    func readable(_ value: Double) -> String {
        let place = place(of: value)
        if let readable = remembered[place].readable { return readable }
        let readable = firstReadable(value, remembered[place].shortest)
        remembered[place].readable = readable
        return readable
    }

    /// The shortest text, for readers that are correct.
    ///
    /// - Parameter value: A finite number.
    /// - Returns: A JSON number.
    func shortest(_ value: Double) -> String {
        remembered[place(of: value)].shortest
    }

    /// Sees to it that the shortest text is remembered, and says where.
    private func place(of value: Double) -> Int {
        let bits = value.bitPattern
        // Round numbers have the same low bits: mixed by a multiplication, their high ones differ.
        let place = Int(truncatingIfNeeded: (bits &* 0x9e37_79b9_7f4a_7c15) >> 56)
        if remembered[place].bits != bits {
            let shortest = JSONText.number(value)
            remembered[place] = Remembered(
                bits: bits,
                shortest: shortest,
                readable: Self.isExactForAllReaders(value, shortest) ? shortest : nil
            )
        }
        return place
    }

    /// Whether the double is a number of thousandths-and-a-bit (1/1024) whose digits a double holds: dividing them by a power
    /// of ten gives exactly the double then, so nothing is rounded.
    static func isExactForAllReaders(_ value: Double, _ shortest: String) -> Bool {
        guard shortest.utf8.count <= 16, value.magnitude < 1e15 else { return false }
        let scaled = value * 1024
        return scaled == scaled.rounded(.towardZero)
    }

    private func firstReadable(_ value: Double, _ shortest: String) -> String {
        if isRead(shortest, as: value) { return shortest }
        let longer = (17...20).lazy.map { String(format: "%.\($0 - 1)e", value) }
        return longer.first { self.isRead($0, as: value) } ?? shortest
    }

    private func isRead(_ text: String, as value: Double) -> Bool {
        var text = text
        let result = try? text.withUTF8 { bytes in
            guard let read = try readStatement() else { return nil as Double? }
            try unsafe read.bind(checkedText: UnsafeRawBufferPointer(bytes), at: 1, .inPlace)
            defer { read.reset() }
            return try read.step() ? read.double(at: 0) : nil
        }
        return result?.bitPattern == value.bitPattern
    }

    /// The statement that reads a text.
    ///
    /// GRDB keeps it, and finalises it before it closes the connection. Other connections are not told before they close, which
    /// SQLite refuses while they have statements: there it is prepared for each text.
    private func readStatement() throws -> PreparedStatement? {
        if let database { return try PreparedStatement(database, sql: Self.readSQL) }
        return try unsafe PreparedStatement(preparing: Self.readSQL, on: handle)
    }
}
