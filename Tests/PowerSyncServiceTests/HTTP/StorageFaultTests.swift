import Foundation
import GRDB
import NIOCore
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Files that vanish and disks that are full under a running service: it is not ready, and says so.
@Suite(.timeLimit(.minutes(1))) struct StorageFaultTests {
    private typealias Scenario = ServiceScenario

    /// Whether the service is ready, and what it says is wrong.
    private func readiness(_ scenario: ServiceScenario) async throws -> (isReady: Bool, problems: String) {
        let reply = try await scenario.send("GET", "/probes/readiness")
        return (reply.status == 200, try reply.json["problems"]?.text ?? "")
    }

    @Test(arguments: ["source.db", "source.db-wal", "source.db-shm", "buckets.db", "buckets.db-wal", "buckets.db-shm"])
    func aFileOfTheDataFolderIsRemovedAndComesBack(_ name: String) async throws {
        let folder = try TemporaryFolder()
        let log = CollectedLog()
        try await Scenario.run(in: folder, log: log) { scenario in
            #expect(try await readiness(scenario).isReady)
            try FileManager.default.moveItem(atPath: folder.path(name), toPath: folder.path("moved"))
            let line = try await log.line(containing: "Database files are gone")
            #expect(line.contains(folder.path(name)))
            let found = try await readiness(scenario)
            #expect(!found.isReady && found.problems.contains("gone or was replaced"))
            // Killing it would not help.
            #expect(try await scenario.send("GET", "/probes/liveness").status == 200)
            let body: JSONObject = ["data": [.object(Scenario.put("lists", "l1", ["name": "A"]))]]
            let reply = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body.text)
            #expect(reply.status == 503)
            #expect(reply.headers["retry-after"] == "5")
            for (method, path) in [("GET", "/write-checkpoint2.json"), ("POST", "/sync/checkpoint-request")] {
                let body = method == "POST" ? #"{"client_id":"c","checkpoint_request_id":"7"}"# : nil
                #expect(try await scenario.send(method, path, token: try scenario.token(), body: body).status == 503)
            }

            // Another file is none.
            try Data().write(to: URL(filePath: folder.path(name)))
            try FileManager.default.removeItem(atPath: folder.path(name))
            try FileManager.default.moveItem(atPath: folder.path("moved"), toPath: folder.path(name))
            _ = try await log.line(containing: "are there again")
            #expect(try await readiness(scenario).isReady)
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
        }
    }

    @Test func writeBeforeTheNextLook() async throws {
        for suffix in ["", "-wal", "-shm"] {
            let folder = try TemporaryFolder()
            try await Scenario.run(in: folder) { scenario in
                try await scenario.write(Scenario.put("lists", "l0", ["owner_id": "u1", "name": "A"]))
                let path = folder.path("source.db") + suffix
                try FileManager.default.moveItem(atPath: path, toPath: folder.path("moved"))
                let body: JSONObject = ["data": [.object(Scenario.put("lists", "l1", ["name": "A"]))]]
                let reply = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body.text)
                #expect(reply.status == 503, "\(path)")
                // A connection that was opened meanwhile may have made another one.
                try? FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: folder.path("moved"), toPath: path)
            }
        }
    }

    /// A database of which a file is gone, or not.
    private struct VanishedFile: FileBacked {
        let isGone: Bool

        func checkFiles() throws(FileProblem) {
            if isGone { throw FileProblem("/data/buckets.db", "is gone") }
        }
    }

    @Test(arguments: [true, false])
    func anErrorOfADatabaseWhoseFilesHaveJustGoneIsAnsweredWith503(_ isGone: Bool) async throws {
        let folder = try TemporaryFolder()
        let storage = try SQLiteBucketStorage(path: folder.path("buckets.db"))
        let timing = Timing()
        let probes = Probes(timing)
        let routes = ServiceRoutes(
            tokens: TokenVerifier(keys: [], audience: []),
            sessions: SyncSession.Environment(
                storage: storage,
                dispatcher: CheckpointDispatcher(storage: storage),
                dataReaders: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1),
                limits: BucketLimits(),
                timing: timing
            ),
            writeCheckpoints: WriteCheckpointIssuer(storage: storage, source: ModelSource()),
            probes: probes,
            files: DataFileWatch([VanishedFile(isGone: isGone)], probes: probes, logger: Scenario.logger),
            streamQueue: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 0)
        )
        // What succeeds needs no look.
        let number = try await routes.whileFilesAreWhole { 7 }
        #expect(number == 7)
        let error = await #expect(throws: (any Error).self) {
            try await routes.whileFilesAreWhole { () async throws -> Void in
                throw DatabaseError(resultCode: .SQLITE_IOERR)
            }
        }
        let envelope = ErrorEnvelope(try #require(error))
        #expect(envelope.httpStatus == (isGone ? 503 : 500))
        #expect(probes.has(.files) == isGone)
    }

    /// More than fits on a disk of 4 MiB.
    private static let largeRows = (0..<8).map { number in
        Scenario.put("settings", "s\(number)", ["value": .string(String(repeating: "x", count: 1_000_000))])
    }

    /// The request for a stream that has them.
    private static let settings: JSONObject = [
        "streams": ["subscriptions": [["stream": "settings", "parameters": nil, "override_priority": nil]]]
    ]

    @Test(.enabled(if: SmallDisk.isPossible))
    func aDiskThatIsFullUntilThereIsRoom() async throws {
        let folder = try TemporaryFolder()
        let disk = try SmallDisk(at: folder.url.appending(path: "disk"), size: "4m")
        defer { disk.remove() }
        let log = CollectedLog()
        try await Scenario.run(
            in: folder,
            log: log,
            configure: { $0.storage = .sqlite(path: disk.url.appending(path: "buckets.db").path) }
        ) { scenario in
            try await scenario.write(Self.largeRows)
            _ = try await log.line(containing: "Replication failed")
            let found = try await readiness(scenario)
            #expect(!found.isReady && found.problems.contains("cannot be written"))
            #expect(try await scenario.send("GET", "/probes/startup").status == 200)

            try disk.grow(to: "64m")
            _ = try await log.line(containing: "can be written again")
            #expect(try await readiness(scenario).isReady)
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token(), Self.settings)
            let lines = try await stream.untilComplete()
            #expect(lines.first?.contains("1#settings|0[] ×8") == true, "\(lines)")
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func fullDiskOfTheSource() async throws {
        let folder = try TemporaryFolder()
        let disk = try SmallDisk(at: folder.url.appending(path: "disk"), size: "4m")
        defer { disk.remove() }
        let path = disk.url.appending(path: "source.db").path
        try await Scenario.run(
            in: folder,
            configure: { $0.source = .embedded(path: path, statements: Scenario.tables) }
        ) { scenario in
            var stream = try await scenario.stream(try scenario.token(), Self.settings)
            _ = try await stream.untilComplete()
            let body: JSONObject = ["data": .array(Self.largeRows.map { .object($0) })]
            let reply = try await scenario.send("POST", "/dev/write", token: try scenario.token(), body: body.text)
            #expect((500..<600).contains(reply.status))
            #expect(try reply.error("code")?.hasPrefix("PSYNC_") == true, "\(reply.body)")

            try disk.grow(to: "64m")
            try await scenario.write(Self.largeRows[0])
            let lines = try await stream.untilComplete()
            #expect(lines.first?.contains("1#settings|0[] ×1 p") == true, "\(lines)")
        }
    }

    @Test func noClientGetsAnythingOfAStorageWhosePagesSomebodyHasOverwrittenAndTheServiceIsNotReady() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            // Each takes most of a page, and they are too few for a segment.
            let rows = (0..<20).map { number in
                Scenario.put("settings", "s\(number)", ["value": .string(String(repeating: "x", count: 3_000))])
            }
            try await scenario.write(rows)
            try await scenario.settle()
        }
        let path = folder.path("buckets.db")
        let queue = try DatabaseQueue(path: path)
        try await queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
        #expect(try overwritePages(of: path, containing: Data(repeating: UInt8(ascii: "x"), count: 1_000)) >= 20)

        let log = CollectedLog()
        try await Scenario.run(in: folder, log: log) { scenario in
            let fields = [
                "Authorization: Token \(try scenario.token())", "Content-Type: application/json",
                "Content-Length: \(Self.settings.text.utf8.count)", "Connection: close",
            ]
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(RawRequests.request("POST /sync/stream", fields) + Self.settings.text)
                var text = ""
                while let bytes = try? await connection.read() { text += String(buffer: bytes) }
                #expect(!text.contains("object_id") && !text.contains("checkpoint_complete"), "\(text)")
            }
            _ = try await log.line(containing: "error Sync stream complete", "malformed", path)

            try await scenario.write(Scenario.put("settings", "s0", ["value": "y"]))
            _ = try await log.line(containing: "Replication failed", "malformed", path)
            let found = try await readiness(scenario)
            #expect(!found.isReady && found.problems.contains("cannot be written"))
        }
    }

    /// Overwrites pages of a database that nobody uses.
    ///
    /// - Returns: How many there were.
    private func overwritePages(of path: String, containing content: Data) throws -> Int {
        let pageSize = 4096
        var file = try Data(contentsOf: URL(filePath: path))
        var count = 0
        for start in stride(from: 0, to: file.count, by: pageSize) {
            let page = start..<min(start + pageSize, file.count)
            guard file.range(of: content, in: page) != nil else { continue }
            file.replaceSubrange(page, with: Data(repeating: 0xff, count: page.count))
            count += 1
        }
        try file.write(to: URL(filePath: path))
        return count
    }

    @Test(arguments: ["source.db", "./x/../source.db", "link.db", "sub/source.db"])
    func sourceAndStorageInOneFile(_ name: String) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("x"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder.path("sub"), withDestinationPath: folder.path(""))
        if name == "link.db" {
            try Data().write(to: URL(filePath: folder.path("source.db")))
            try FileManager.default.linkItem(atPath: folder.path("source.db"), toPath: folder.path(name))
        }
        await #expect {
            try await Scenario.run(
                in: folder,
                configure: { $0.storage = .sqlite(path: folder.path("") + "/" + name) }
            ) { _ in }
        } throws: { error in
            guard let error = error as? ServiceError else { return false }
            return error.code == .invalidConfiguration && error.key == "storage.path"
        }
    }

    @Test func fileIsCompleteAfterTheEnd() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
        }
        try FileManager.default.copyItem(atPath: folder.path("source.db"), toPath: folder.path("copy.db"))
        let copy = try DatabaseQueue(path: folder.path("copy.db"))
        let names = try await copy.read { db in try String.fetchAll(db, sql: "SELECT name FROM lists") }
        #expect(names == ["A"])
    }
}
