import Foundation
import GRDB
import PowerSyncProtocol
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

    @Test("the data folder is removed, and comes back", arguments: ["source.db", "buckets.db"])
    func vanishedFile(_ name: String) async throws {
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

            // Another file is none.
            try Data().write(to: URL(filePath: folder.path(name)))
            try FileManager.default.removeItem(atPath: folder.path(name))
            try FileManager.default.moveItem(atPath: folder.path("moved"), toPath: folder.path(name))
            _ = try await log.line(containing: "are there again")
            #expect(try await readiness(scenario).isReady)
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
        }
    }

    @Test func aReplacedFileIsNotTheOneThatWasOpened() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a")
        #expect(DataFileWatch.Identity(path: path) == nil)
        try Data().write(to: URL(filePath: path))
        let first = DataFileWatch.Identity(path: path)
        #expect(first != nil && first == DataFileWatch.Identity(path: path))
        try FileManager.default.moveItem(atPath: path, toPath: folder.path("b"))
        try Data().write(to: URL(filePath: path))
        #expect(DataFileWatch.Identity(path: path) != first)
        #expect(DataFileWatch.Identity(path: folder.path("b")) == first)
    }

    @Test("a disk that is full, until there is room", .enabled(if: SmallDisk.isPossible))
    func fullDisk() async throws {
        let folder = try TemporaryFolder()
        let disk = try SmallDisk(at: folder.url.appending(path: "disk"), size: "4m")
        defer { disk.remove() }
        let log = CollectedLog()
        try await Scenario.run(
            in: folder,
            log: log,
            configure: { $0.storage = .sqlite(path: disk.url.appending(path: "buckets.db").path) }
        ) { scenario in
            let rows = (0..<8).map { number in
                Scenario.put("settings", "s\(number)", ["value": .string(String(repeating: "x", count: 1_000_000))])
            }
            try await scenario.write(rows)
            _ = try await log.line(containing: "Replication failed")
            let found = try await readiness(scenario)
            #expect(!found.isReady && found.problems.contains("cannot be written"))
            #expect(try await scenario.send("GET", "/probes/startup").status == 200)

            try disk.grow(to: "64m")
            _ = try await log.line(containing: "can be written again")
            #expect(try await readiness(scenario).isReady)
            try await scenario.settle()
            var stream = try await scenario.stream(
                try scenario.token(),
                ["streams": ["subscriptions": [["stream": "settings", "parameters": nil, "override_priority": nil]]]]
            )
            let lines = try await stream.untilComplete()
            #expect(lines.first?.contains("1#settings|0[] ×8") == true, "\(lines)")
        }
    }

    @Test("source and storage in one file", arguments: ["source.db", "./x/../source.db", "link.db", "sub/source.db"])
    func oneFile(_ name: String) async throws {
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

    @Test("whoever copies the source's file alone after the end has every row")
    func fileIsCompleteAfterTheEnd() async throws {
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
