import Foundation
import NIOConcurrencyHelpers

/// The time of a storage, as far as it is known: signatures that are more than 15 minutes off are refused.
final class S3Clock: Sendable {
    private static let clocks = NIOLockedValueBox<[URL: S3Clock]>([:])

    private let now: @Sendable () -> Date
    private let difference = NIOLockedValueBox<TimeInterval>(0)

    init(_ now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// The clock of all in this process that sign for an endpoint: a backend may make a storage for each request.
    static func shared(for endpoint: URL) -> S3Clock {
        clocks.withLockedValue { clocks in
            if let clock = clocks[endpoint] { return clock }
            let clock = S3Clock { Date() }
            clocks[endpoint] = clock
            return clock
        }
    }

    /// The time that signatures carry.
    var date: Date { now().addingTimeInterval(difference.withLockedValue { $0 }) }

    /// A storage has refused a signature at a time of its own.
    ///
    /// - Parameter header: The `Date` of its answer: `Tue, 24 Nov 2026 07:08:09 GMT`.
    /// - Returns: Whether that time is another one than this clock has, by a minute or more. It has that time from now on.
    func correct(by header: String?) -> Bool {
        guard let header, let date = S3Clock.parse(header), abs(date.timeIntervalSince(self.date)) >= 60 else {
            return false
        }
        difference.withLockedValue { $0 = date.timeIntervalSince(now()) }
        return true
    }

    private static func parse(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = .gmt
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}
