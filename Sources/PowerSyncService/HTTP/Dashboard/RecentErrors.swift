import Logging
import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// The last errors and warnings that a service has logged: so that the dashboard shows them without the log.
///
/// Equal ones are one entry with a count. Few entries of one message are kept, so that what a request can cause drives out
/// nothing else. A request that is refused is no error, and not here (``ErrorEnvelope/logLevel``).
final class RecentErrors: Sendable {
    /// An error or a warning of the log.
    typealias Entry = ServiceSnapshot.LoggedError

    /// How many entries are kept.
    static let maximumCount = 50
    /// How many of them have the same message.
    static let maximumOfOneMessage = 10
    /// How many Unicode scalars of a text are kept.
    ///
    /// Not characters, of which one may have any number of combining marks.
    static let textLimit = 500

    private let now: @Sendable () -> Double
    /// The entry that was logged last is the last one.
    private let kept = NIOLockedValueBox<[Entry]>([])

    /// Creates a list without entries.
    ///
    /// - Parameter now: The time in seconds since 1970.
    init(now: @escaping @Sendable () -> Double) {
        self.now = now
    }

    /// The entries, the one that was logged last first.
    var newestFirst: [Entry] { kept.withLockedValue { $0.reversed() } }

    /// A logger that writes what another one writes, and whose errors and warnings are kept here, whatever its level is.
    func recorded(by logger: Logger) -> Logger {
        var logger = logger
        logger.handler = Handler(output: logger.handler, errors: self)
        return logger
    }

    /// Adds what was logged.
    ///
    /// - Complexity: O(`maximumCount`)
    func add(_ entry: Entry) {
        kept.withLockedValue { entries in
            var entry = entry
            if let index = entries.firstIndex(where: { $0.isEqual(to: entry) }) {
                let known = entries.remove(at: index)
                entry.firstAt = known.firstAt
                entry.count += known.count
            }
            entries.append(entry)
            let ofMessage = entries.indices.filter { entries[$0].message == entry.message }
            if ofMessage.count > Self.maximumOfOneMessage {
                // One of the same code: a key set that cannot be fetched drives out no other failure of a request.
                entries.remove(at: ofMessage.dropLast().first { entries[$0].code == entry.code } ?? ofMessage[0])
            } else if entries.count > Self.maximumCount {
                entries.removeFirst()
            }
        }
    }

    private func add(_ event: LogEvent, metadata: Logger.Metadata) {
        let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
        func text(_ key: String) -> String? {
            metadata[key].map { "\($0)" }.flatMap { $0.isEmpty ? nil : Self.shown($0) }
        }
        let details = Self.details.compactMap(text) + [event.error.map { Self.shown("\($0)") }].compactMap(\.self)
        let time = now()
        add(
            Entry(
                level: event.level >= .error ? "error" : "warning",
                message: Self.shown(event.message.description),
                details: details.isEmpty ? nil : details.joined(separator: "; "),
                code: text(LogKey.code),
                table: text(LogKey.table),
                stream: text(LogKey.replicationStream),
                user: text(LogKey.userID),
                remedy: text(LogKey.remedy) ?? text(LogKey.statement),
                firstAt: time,
                lastAt: time,
                count: 1
            )
        )
    }

    /// The keys of what has happened, in the order in which it is shown.
    private static let details = [
        LogKey.error, LogKey.description, LogKey.details, LogKey.reason, LogKey.warning, LogKey.diagnostic,
        LogKey.files, LogKey.endpoint,
    ]

    /// As much of a text as is shown; its lines stay lines.
    private static func shown(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(textLimit).map { scalar in
            scalar.properties.generalCategory == .control && scalar != "\n" ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Passes everything on, and tells ``RecentErrors`` of errors and warnings.
    private struct Handler: LogHandler {
        var output: any LogHandler
        let errors: RecentErrors

        var metadata: Logger.Metadata {
            get { output.metadata }
            set { output.metadata = newValue }
        }

        var metadataProvider: Logger.MetadataProvider? {
            get { output.metadataProvider }
            set { output.metadataProvider = newValue }
        }

        /// Never above `warning`: a service that logs less shows its errors, too.
        var logLevel: Logger.Level {
            get { min(output.logLevel, .warning) }
            set { output.logLevel = newValue }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { output[metadataKey: key] }
            set { output[metadataKey: key] = newValue }
        }

        func log(event: LogEvent) {
            if event.level >= .warning { errors.add(event, metadata: output.metadata) }
            if event.level >= output.logLevel { output.log(event: event) }
        }
    }
}

extension ServiceSnapshot.LoggedError {
    /// Whether both say the same, at whatever times.
    fileprivate func isEqual(to other: Self) -> Bool {
        var other = other
        (other.firstAt, other.lastAt, other.count) = (firstAt, lastAt, count)
        return self == other
    }
}
