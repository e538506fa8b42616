import Foundation
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Connects, disconnects, clears and closes from many tasks at once.
@Suite(.timeLimit(.minutes(2))) struct ConnectionStormTests {
    private static let schema = Schema(tables: [Table(name: "lists", columns: [.text("name")])])
    private static let options = ConnectOptions(crudThrottle: 0.001, retryDelay: 0.001)

    private let service = StormService()
    private let connector = StormConnector()

    private func makeDatabases(_ count: Int, in directory: URL) -> [any PowerSyncDatabaseProtocol] {
        (0..<count).map { _ in
            service.transport.makeDatabase(
                schema: Self.schema,
                dbFilename: directory.appending(path: "storm.db").path,
                clock: ContinuousClock(),
                logger: RecordingLogger()
            )
        }
    }

    /// One step of one task.
    private func step(_ number: Int, _ database: any PowerSyncDatabaseProtocol) async throws {
        switch number {
        case 0, 1:
            try await database.connect(connector: connector, options: Self.options)
        case 2:
            try await database.disconnect()
        case 3:
            try await database.disconnectAndClear()
        case 4:
            _ = try await database.syncOnce(
                connector: connector,
                options: Self.options,
                deadline: .milliseconds(50)
            )
        case 5, 6:
            try await database.execute("INSERT INTO lists (id, name) VALUES (uuid(), 'local')")
        case 7:
            await database.invalidateCredentials()
        default:
            let connecting = Task { try await database.connect(connector: connector, options: Self.options) }
            connecting.cancel()
            try await connecting.value
        }
    }

    /// Takes steps in many tasks.
    ///
    /// Errors other than those that the functions announce are issues.
    private func storm(_ seed: UInt64, on databases: [any PowerSyncDatabaseProtocol], tasks: Int = 6) async {
        await withTaskGroup { group in
            for task in 0..<tasks {
                group.addTask {
                    var generator = SeededGenerator(seed: seed &* 100 &+ UInt64(task))
                    for _ in 0..<12 {
                        do {
                            try await step(generator.number(below: 9), databases[task % databases.count])
                        } catch is CancellationError {
                        } catch is PowerSyncError {
                        } catch {
                            Issue.record(error, "seed \(seed)")
                        }
                    }
                }
            }
        }
    }

    private func serving(_ body: () async throws -> Void) async throws {
        let serving = Task { await service.run() }
        defer { serving.cancel() }
        try await body()
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>, [1, 2])
    func disconnectingEndsEverythingAndConnectingWorksAgain(seed: UInt64, instances: Int) async throws {
        try await withTemporaryDirectory { directory in
            let databases = makeDatabases(instances, in: directory)
            try await serving {
                await storm(seed, on: databases)
                for database in databases { try await database.disconnect() }
                #expect(service.transport.openStreams == 0)
                #expect(connector.running == 0)
                for database in databases {
                    let status = database.currentStatus
                    #expect(!status.connected && !status.connecting && !status.uploading && !status.downloading)
                    #expect(status.activity.download == nil && status.activity.upload == nil)
                }

                connector.calmDown()
                try await databases[0].execute("INSERT INTO lists (id, name) VALUES (uuid(), 'local')")
                let result = try await databases[0].syncOnce(
                    connector: connector,
                    options: Self.options,
                    deadline: .seconds(60)
                )
                #expect(result.isComplete, "\(result)")
                let rows = try await databases[0].getAll("SELECT name FROM lists") { try $0.getString(index: 0) }
                #expect(rows == ["remote"])
                for database in databases { try await database.close() }
            }
            #expect(service.transport.openStreams == 0)
            #expect(service.transport.mostOpenStreams == 1)
            #expect(connector.mostUploads <= 1)
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func closingInAStormEndsEverything(seed: UInt64) async throws {
        try await withTemporaryDirectory { directory in
            let database = makeDatabases(1, in: directory)[0]
            try await serving {
                async let stormy: Void = storm(seed, on: [database])
                var generator = SeededGenerator(seed: seed)
                for _ in 0..<generator.number(below: 200) { await Task.yield() }
                async let first: Void = database.close()
                async let second: Void = database.close()
                _ = try await (first, second)
                #expect(service.transport.openStreams == 0)
                #expect(connector.running == 0)
                await stormy
            }
            #expect(service.transport.openStreams == 0)
            #expect(connector.running == 0)
            #expect(!database.currentStatus.connected)
            await #expect(throws: PowerSyncError.self) {
                try await database.connect(connector: connector, options: Self.options)
            }
        }
    }
}
