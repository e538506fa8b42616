import Foundation
import PowerSync

/// A first sync through the public interface, over a loopback connection to a service in another process.
///
/// Runs alone in its process, so that the processor time and the memory of the process are the client's.
struct FirstSync: Codable {
    /// What is measured.
    struct Result: Codable {
        /// From `connect` to the applied checkpoint, in seconds.
        var seconds: Double
        /// From `connect` until the rows of priority 1 can be read, in seconds.
        var secondsToFirstPriority: Double?
        /// The processor time of the process meanwhile, in seconds.
        var cpuSeconds: Double
        /// The peak of resident memory beyond what the process had before `connect`, in bytes.
        var peakMemory: Int
        /// The largest size of the write-ahead log, as seen after each change of the status, in bytes.
        var peakLog: Int
        /// Reads of the rows of priority 1 from when they can be read until the rest was applied.
        var readsDuringSync: [ReadLatency]
        /// The same reads afterwards.
        var readsWhenIdle: [ReadLatency]
    }

    /// Where the service is.
    var address: ServiceProcess.Address
    /// Whether to connect by WebSocket.
    var usesWebSocket = false
    /// Whether to sync the rows of priority 1 as well, and to read them meanwhile.
    var reads = false
    /// The number of todos to expect.
    var rows: Int

    /// Syncs a new database.
    func run() async throws -> Result {
        let folder = try TemporaryFolder()
        let database = PowerSyncDatabase(
            schema: SyncScenario.schema,
            dbFilename: folder.path,
            logger: DefaultLogger(minSeverity: .error)
        )
        // Opens the file.
        _ = try await database.execute("SELECT 1")
        let subscription = reads ? try await database.syncStream(name: "lists", params: nil).subscribe() : nil
        var options = ConnectOptions()
        options.clientConfiguration = SyncClientConfiguration(transport: usesWebSocket ? .webSocket : .http)

        let before = ProcessUsage.now
        let memory = PeakMemory.Baseline()
        let start = ContinuousClock.now
        try await database.connect(connector: Connector(address: address), options: options)
        async let peakLog = largestLog(of: folder.path, database)
        var secondsToFirstPriority: Double?
        var during: [ReadLatency] = []
        if reads {
            try await database.waitForFirstSync(priority: 1)
            secondsToFirstPriority = (ContinuousClock.now - start) / .seconds(1)
            let status = database.currentStatus
            during = try await ReadLatency.measure(database) { status.hasSynced != true }
        }
        try await database.waitForFirstSync()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = ProcessUsage.now
        let peakMemory = memory?.peak?.bytes ?? 0
        let count = try await database.get("SELECT count(*) FROM todos") { try $0.getInt(index: 0) }
        precondition(count == rows, "\(count) of \(rows) rows are visible")
        let largestLog = try await peakLog

        try await subscription?.unsubscribe()
        try await database.disconnect()
        var idleRounds = during.first?.count ?? 0
        let idle =
            reads
            ? try await ReadLatency.measure(database) {
                idleRounds -= 1; return idleRounds >= 0
            } : []
        try await database.close()
        return Result(
            seconds: seconds,
            secondsToFirstPriority: secondsToFirstPriority,
            cpuSeconds: (after.cpu - before.cpu) / .seconds(1),
            peakMemory: peakMemory,
            peakLog: largestLog,
            readsDuringSync: during,
            readsWhenIdle: idle
        )
    }

    /// Looks at the write-ahead log after each change of the status, until the first sync is complete.
    private func largestLog(of path: String, _ database: any PowerSyncDatabaseProtocol) async throws -> Int {
        var largest = 0
        for await status in database.currentStatus.asFlow() {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
            largest = max(largest, (attributes?[.size] as? NSNumber)?.intValue ?? 0)
            if status.hasSynced == true { break }
        }
        return largest
    }

    private final class Connector: PowerSyncBackendConnectorProtocol {
        private let address: ServiceProcess.Address

        init(address: ServiceProcess.Address) {
            self.address = address
        }

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: address.url, token: address.token)
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            try await database.getNextCrudTransaction()?.complete()
        }
    }
}
