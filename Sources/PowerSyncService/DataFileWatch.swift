import Foundation
import Logging
import ServiceLifecycle

/// Notices that files under a running service are gone, or were replaced.
///
/// SQLite does not: it goes on with the file that it has opened, whatever has become of its name, and all that is written is
/// gone when the process ends.
struct DataFileWatch: Service {
    /// Which file it is, whatever its name.
    struct Identity: Equatable, Sendable {
        private let device: UInt64
        private let number: UInt64

        /// The file with a name; `nil` when there is none.
        init?(path: String) {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                let device = Self.number(attributes[.systemNumber]),
                let number = Self.number(attributes[.systemFileNumber])
            else { return nil }
            self.device = device
            self.number = number
        }

        /// Foundation has different types for them on different systems.
        private static func number(_ value: Any?) -> UInt64? {
            switch value {
            case let value as UInt64: value
            case let value as UInt: UInt64(value)
            case let value as Int: UInt64(truncatingIfNeeded: value)
            case let value as NSNumber: value.uint64Value
            default: nil
            }
        }
    }

    /// How often to look.
    static let interval = Duration.seconds(1)

    private let files: [(path: String, identity: Identity?)]
    private let probes: Probes
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Remembers files that have just been opened.
    init(paths: [String], probes: Probes, clock: any Clock<Duration> = ContinuousClock(), logger: Logger) {
        files = paths.map { ($0, Identity(path: $0)) }
        self.probes = probes
        self.clock = clock
        self.logger = logger
    }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await clock.sleep(for: Self.interval)
                    look()
                }
            }
        } catch is CancellationError {}
    }

    private func look() {
        let lost = files.filter { Identity(path: $0.path) != $0.identity }.map(\.path)
        if lost.isEmpty {
            if probes.solved(.files) { logger.notice("The database files are there again") }
        } else if probes.found(.files) {
            logger.critical(
                "Database files are gone or were replaced: what is written will be lost. Put them back, or restart",
                metadata: ["files": "\(lost.joined(separator: ", "))"]
            )
        }
    }
}
