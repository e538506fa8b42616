/// A point in time as PostgreSQL sends it in replication: microseconds since 2000-01-01 00:00:00 UTC.
package struct PostgresInstant: RawRepresentable, Hashable, Sendable {
    /// The microseconds; negative before 2000.
    package let rawValue: Int64

    /// The seconds from 1970-01-01 to 2000-01-01, in microseconds.
    private static let epoch: Int64 = 946_684_800_000_000

    /// Creates an instant from its number.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates an instant from microseconds since 1970-01-01 00:00:00 UTC.
    package init(unixMicroseconds: Int64) {
        rawValue = unixMicroseconds &- Self.epoch
    }

    /// The microseconds since 1970-01-01 00:00:00 UTC.
    package var unixMicroseconds: Int64 { rawValue &+ Self.epoch }
}
