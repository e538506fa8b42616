import Logging
import PowerSyncServiceCore
import ServiceLifecycle

/// Notices what happens to files under a running service, each second.
struct DataFileWatch: Service {
    /// How often to look.
    static let interval = Duration.seconds(1)

    private let databases: [any FileBacked]
    private let probes: Probes
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Watches databases.
    init(_ databases: [any FileBacked], probes: Probes, clock: any Clock<Duration> = ContinuousClock(), logger: Logger)
    {
        self.databases = databases
        self.probes = probes
        self.clock = clock
        self.logger = logger
    }

    func run() async throws {
        try await PeriodicJob(every: Self.interval, after: Self.interval, clock: clock) {
            try await lookNow()
        }.run()
    }

    /// Looks at the files at once, and tells the probes what it finds.
    func lookNow() async throws {
        try await BlockingWork.run { look() }
    }

    private func look() {
        let found = databases.compactMap { database -> FileProblem? in
            do throws(FileProblem) {
                try database.checkFiles()
                return nil
            } catch {
                return error
            }
        }
        if found.isEmpty {
            if probes.solved(.files) { logger.notice("The database files are there again") }
        } else if probes.found(.files) {
            logger.critical(
                "Database files are gone, were replaced, cut short or made read-only: what is written will be lost",
                metadata: [
                    LogKey.files: "\(found.map { "\($0.path) \($0.problem)" }.joined(separator: ", "))",
                    LogKey.remedy: "put them back, or restart the service",
                ]
            )
        }
    }
}
