import Dispatch
import Foundation
import GRDB
import Logging
import PowerSyncService

/// The service of the `sync` benchmarks in a process of its own, so that its work does not count as the client's.
enum ServiceProcess {
    /// Where a service is reached.
    struct Address: Codable {
        var url: String
        var token: String
    }

    /// The child: fills the source, serves it, tells where, and ends when its input does.
    static func run(_ scenario: SyncScenario) async throws {
        try fill(scenario)
        var logger = Logger(label: "service") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let configuration = scenario.configuration
        try await SyncService.withService(configuration: configuration, logger: logger) { running in
            let token = try configuration.makeDevelopmentToken(userID: SyncScenario.user)
            try ChildProcess.report(Address(url: running.address.url, token: token))
            await endOfInput()
        }
    }

    /// Waits on a thread of its own: the threads of tasks are needed by the service.
    static func endOfInput() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                _ = FileHandle.standardInput.readDataToEndOfFile()
                continuation.resume()
            }
        }
    }

    /// Writes the rows before the service opens the file, so that they are its initial snapshot.
    private static func fill(_ scenario: SyncScenario) throws {
        let isFilled = FileManager.default.fileExists(atPath: scenario.sourcePath)
        guard !isFilled else { return }
        let source = try DatabaseQueue(path: scenario.sourcePath)
        try source.write { db in
            for sql in SyncScenario.statements { try db.execute(sql: sql) }
            for index in 0..<SyncScenario.bucketCount {
                try db.execute(
                    sql: "INSERT INTO folders(id, owner) VALUES (?, ?)",
                    arguments: ["folder-\(index)", SyncScenario.user]
                )
            }
            let rows = Workload(rows: scenario.rows + SyncScenario.visibleRows, buckets: SyncScenario.bucketCount).rows
            for (index, row) in rows.enumerated() {
                let isVisible = index < SyncScenario.visibleRows
                try db.cachedStatement(
                    sql: """
                        INSERT INTO \(isVisible ? "lists" : "todos") (id, folder, owner, number, title, done)
                        SELECT ?1, ?2, ?3 ->> 'owner', ?3 ->> 'number', ?3 ->> 'title', ?3 ->> 'done'
                        """
                ).execute(arguments: [row.id, isVisible ? SyncScenario.user : "folder-\(row.bucket)", row.data])
            }
        }
        try source.close()
    }
}
