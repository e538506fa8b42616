import GRDB
import PowerSyncServiceCore

/// A position of the embedded source: an entry of `_ps_log`, with the number that was drawn when it was written.
///
/// The number tells entries apart that have the same `seq` because the file was restored and written to again in between.
/// As ``LSN``: `seq` and number as 16 hexadecimal digits each, with a dash between. Before the first entry, both are 0.
struct EmbeddedPosition: Hashable, Sendable {
    /// The `seq`.
    var sequence: Int64
    /// The number.
    var token: UInt64

    /// Before the first entry.
    static let start = EmbeddedPosition(sequence: 0, token: 0)

    /// Creates a position.
    init(sequence: Int64, token: UInt64) {
        self.sequence = sequence
        self.token = token
    }

    /// Reads a position from its text; `nil` for the text of another kind of source.
    init?(_ lsn: LSN) {
        let parts = lsn.rawValue.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 16 }),
            let sequence = Int64(parts[0], radix: 16), let token = UInt64(parts[1], radix: 16)
        else { return nil }
        self.init(sequence: sequence, token: token)
    }

    /// The position as text.
    var lsn: LSN {
        LSN("\(Self.digits(UInt64(bitPattern: sequence)))-\(Self.digits(token))")
    }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension EmbeddedPosition {
    /// The position of the newest entry.
    static func head(_ db: Database) throws -> EmbeddedPosition {
        try Row.fetchOne(db, sql: "SELECT seq, token FROM _ps_log ORDER BY seq DESC LIMIT 1").map {
            EmbeddedPosition(sequence: $0["seq"], token: UInt64(bitPattern: $0["token"]))
        } ?? .start
    }

    /// Whether the log has, or had, this entry: otherwise the file is not what it was when the position was read.
    ///
    /// The newest entry and those from the last acknowledged one on are never deleted.
    func isContained(in db: Database) throws -> Bool {
        guard sequence > 0 else { return self == .start }
        let found = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT token FROM _ps_log WHERE seq = ?"),
            arguments: [sequence]
        )
        return found.map { UInt64(bitPattern: $0) } == token
    }

    /// Whether the log cannot have had this entry.
    ///
    /// What was acknowledged and deleted, it can have had.
    func isContradicted(by db: Database) throws -> Bool {
        let oldest = try Int64.fetchOne(db, sql: "SELECT min(seq) FROM _ps_log") ?? 0
        return try sequence >= oldest && !isContained(in: db)
    }
}

extension SourceHistory {
    /// The history of the file.
    static func current(_ db: Database) throws -> SourceHistory {
        SourceHistory(rawValue: try String.fetchOne(db, sql: "SELECT id FROM _ps_history") ?? "")
    }

    /// Gives the file another history, unless it has got one already.
    static func replace(_ history: SourceHistory, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE _ps_history SET id = lower(hex(randomblob(16))) WHERE id = ?",
            arguments: [history.rawValue]
        )
    }
}
