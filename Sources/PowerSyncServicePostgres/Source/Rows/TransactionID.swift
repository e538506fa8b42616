import PowerSyncServiceCore

/// The number of a transaction, which a server gives out once (`xid8`).
struct TransactionID: Hashable, Comparable, Sendable {
    /// The number.
    let rawValue: UInt64

    /// Creates the id of a number.
    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Completes a number of the change stream, which has no upper half.
    ///
    /// - Parameters:
    ///   - number: The lower half.
    ///   - other: A transaction of about the same time. Those that are in the log at one time, or run, are less than 2³¹ apart: a
    ///     server that comes near that gives out no more.
    init(_ number: UInt32, near other: TransactionID) {
        let distance = Int32(bitPattern: number &- UInt32(truncatingIfNeeded: other.rawValue))
        let (sum, isOutOfRange) =
            distance < 0
            ? other.rawValue.subtractingReportingOverflow(UInt64(distance.magnitude))
            : other.rawValue.addingReportingOverflow(UInt64(distance))
        rawValue = isOutOfRange ? UInt64(number) : sum
    }

    static func < (one: TransactionID, other: TransactionID) -> Bool { one.rawValue < other.rawValue }
}

extension TransactionID {
    /// The transaction of a moment.
    init(_ moment: SourceMoment) { self.init(rawValue: moment.rawValue) }

    /// What the service knows the transaction by.
    var moment: SourceMoment { SourceMoment(rawValue: rawValue) }
}

extension PostgresSource {
    /// The transaction that the server gives out next.
    func nextTransaction(_ connection: PostgresConnection) async throws -> TransactionID {
        let rows = try await connection.query(
            "SELECT pg_snapshot_xmax(pg_current_snapshot())",
            activity: "reading the number of the next transaction"
        )
        guard let number = rows.first?.first.flatMap({ $0.flatMap { UInt64($0) } }) else {
            throw PostgresCatalogError(query: "transaction", row: 0, column: "pg_snapshot_xmax")
        }
        return TransactionID(rawValue: number)
    }
}
