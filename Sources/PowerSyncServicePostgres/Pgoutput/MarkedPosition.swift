import PowerSyncServiceCore

/// A position of the log, with what tells it from the same position of another log.
///
/// A position is a number of bytes: when the files of a server are put back to an older state, and it is written to again, its log
/// has the same numbers with other contents. The mark says what stands there: the time of a commit, or a number that was drawn and
/// written with a message before.
///
/// ```swift
/// MarkedPosition(position, mark: 0x2a).lsn  // 00000016/B374D848-000000000000002A
/// ```
struct MarkedPosition: Hashable, Sendable {
    /// What stands between position and mark: texts of positions have the order of the log with marks, too.
    static let separator: Character = "-"

    /// The position.
    var position: WALPosition
    /// What stands there.
    var mark: UInt64

    /// Creates a position.
    init(_ position: WALPosition, mark: UInt64) {
        self.position = position
        self.mark = mark
    }

    /// The place of a commit record, or its end.
    init(_ position: WALPosition, of time: PostgresInstant) {
        self.init(position, mark: UInt64(bitPattern: time.rawValue))
    }

    /// Reads the form in the storage; `nil` for a position without a mark, and for one of another source.
    init?(_ lsn: LSN) {
        let parts = lsn.rawValue.split(separator: Self.separator, omittingEmptySubsequences: false)
        guard parts.count == 2, let position = WALPosition(parts[0]), let mark = UInt64(parts[1], radix: 16) else {
            return nil
        }
        self.init(position, mark: mark)
    }

    /// The form in the storage.
    var lsn: LSN { LSN("\(position.lsn.rawValue)\(Self.separator)\(Self.digits(mark))") }

    /// A mark as text, as a message has it.
    static func digits(_ mark: UInt64) -> String {
        let digits = String(mark, radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension LSN {
    /// The position without its mark (``MarkedPosition``).
    var unmarked: LSN { LSN(String(rawValue.prefix { $0 != MarkedPosition.separator })) }
}
