import Logging
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// The key of a row as the file has it: SQLite does not check that texts are UTF-8.
///
/// A row with such a key has no identity that clients could have, and is left out. But reading goes on after it.
struct EmbeddedKey: Sendable {
    private enum Value: Sendable {
        case readable(SQLValue)
        case text([UInt8])
    }

    private let values: [Value]

    /// A key that was stored.
    init(_ values: [SQLValue]) {
        self.values = values.map { .readable($0) }
    }

    /// Reads a key from columns of the current row.
    init(_ statement: PreparedStatement, at columns: some Sequence<Int>) {
        values = columns.map { column in
            let column = CInt(column)
            if statement.isReadable(at: column) { return .readable(statement.value(at: column)) }
            return unsafe .text(statement.text(at: column).map { unsafe Array($0) } ?? [])
        }
    }

    /// The values; `nil` when one is not UTF-8.
    var readable: [SQLValue]? {
        let readable = values.compactMap { if case .readable(let value) = $0 { value } else { nil } }
        return readable.count == values.count ? readable : nil
    }

    /// Binds the values to the first parameters.
    func bind(to statement: PreparedStatement) {
        for (index, value) in values.enumerated() {
            switch value {
            case .readable(let value): statement.bind(value, at: CInt(index + 1))
            case .text(let bytes):
                statement.bind(text: bytes, at: CInt(index + 1))
            }
        }
    }
}

extension EmbeddedSource {
    /// Says that rows are left out because of their keys.
    func warnOfUnreadableKeys(_ table: CapturedTable) {
        warnOnce(
            "Rows of a table are not synced because their key is not valid UTF-8; others of it are not logged",
            [LogKey.table: "\(table.descriptor.name)"]
        )
    }
}
