/// A point in time in whole microseconds since the Unix epoch, as the system tables store it.
package struct SyncInstant: RawRepresentable, Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    package var rawValue: Int64

    /// Creates an instant from microseconds since the Unix epoch.
    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates an instant from microseconds since the Unix epoch.
    package init(microseconds: Int64) {
        self.init(rawValue: microseconds)
    }

    /// The instant a number of seconds later; stays at the last representable instant instead of overflowing.
    package func adding(seconds: Int64) -> SyncInstant {
        let (offset, offsetOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, sumOverflow) = rawValue.addingReportingOverflow(offset)
        guard !offsetOverflow, !sumOverflow else {
            return SyncInstant(rawValue: seconds < 0 ? .min : .max)
        }
        return SyncInstant(rawValue: sum)
    }

    package static func < (lhs: SyncInstant, rhs: SyncInstant) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}
