import Foundation
import GRDB
import TestSupport
import Testing

/// Files that are taken away from a running service, in a process of its own that is then killed: what was acknowledged is there as far as
/// the files still hold it, and nothing else is acknowledged.
@Suite(.timeLimit(.minutes(10))) struct DataFileTests {
    /// What happens to a file.
    enum Fault: String, CaseIterable, Sendable {
        case deleted, replaced, emptied, cut
        /// Not to root, so that the service runs as another user.
        case readOnly

        func happen(to path: String) throws {
            let files = FileManager.default
            switch self {
            case .deleted: try files.removeItem(atPath: path)
            case .replaced:
                try files.copyItem(atPath: path, toPath: path + ".copy")
                try files.removeItem(atPath: path)
                try files.moveItem(atPath: path + ".copy", toPath: path)
            case .emptied: truncate(path, 0)
            case .cut: truncate(path, off_t(DataFileTests.length(of: path) / 2))
            case .readOnly: try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
            }
        }
    }

    /// The length of a file; 0 when there is none.
    private static func length(of path: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// A service in a folder, and who asks it.
    private struct Service {
        let folder: TemporaryFolder
        let port = FreePort.take()
        /// Whether it is not root, who may write everything.
        let isNobody: Bool
        private var token = ""
        private var running: ShellLine?

        init(isNobody: Bool) throws {
            folder = try TemporaryFolder()
            self.isNobody = isNobody && geteuid() == 0
            try """
            replication:
              connections:
                - {type: embedded, path: source.db, tables: ["CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT)"]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {path: sync.yaml}
            development: {write_endpoint: true, token_endpoint: true}
            host: 127.0.0.1
            port: \(port)
            """
            .write(toFile: folder.path("powersync.yaml"), atomically: true, encoding: .utf8)
            try "config: {edition: 3}\nstreams: {lists: {query: SELECT * FROM lists}}\n"
                .write(toFile: folder.path("sync.yaml"), atomically: true, encoding: .utf8)
            guard self.isNobody else { return }
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: folder.url.path)
        }

        /// Starts it.
        ///
        /// - Returns: Whether it is ready, and what it has said.
        mutating func start() async throws -> (isReady: Bool, said: [String]) {
            let user = isNobody ? "setpriv --reuid=65534 --clear-groups " : ""
            let process = try ShellLine("\(user)powersync serve", in: folder.url)
            let said = await process.lines { $0.contains("The service is ready") }
            guard said.last?.contains("The service is ready") == true else {
                await process.end(by: SIGKILL)
                return (false, said)
            }
            running = process
            let answer = try await ask("-X POST", "/dev/token", #"{"user_id":"u1"}"#).body
            token = answer.firstMatch(of: /"token":"([^"]+)"/).map { String($0.1) } ?? ""
            return (true, said)
        }

        /// Waits until it says that something is wrong with its files, or ends.
        ///
        /// - Returns: What it says.
        func waitForFault() async -> String {
            func isFault(_ line: String) -> Bool {
                line.contains("Database files are gone") || line.contains("Bus error")
            }
            return await running?.lines(until: isFault).last ?? ""
        }

        /// Writes a row.
        ///
        /// - Returns: Whether that was acknowledged.
        func write(_ id: String) async throws -> Bool {
            let body =
                #"{"data":[{"op":"PUT","type":"lists","id":"\#(id)","data":{"name":"\#(String(repeating: "x", count: 3_000))"}}]}"#
            return try await ask("-X POST", "/dev/write", body).status == "200"
        }

        /// The answer to a health check; 000 when there is none.
        func readiness() async throws -> String { try await ask("", "/probes/readiness").status }

        /// Whether a write checkpoint is given.
        func acknowledgesUploads() async throws -> Bool { try await ask("", "/write-checkpoint2.json").status == "200" }

        private func ask(
            _ method: String,
            _ path: String,
            _ body: String? = nil
        ) async throws -> (status: String, body: String) {
            let data = body.map { "-H 'Content-Type: application/json' -d '\($0)'" } ?? ""
            let line = try ShellLine(
                "curl -s -m 10 \(method) -w '\\n%{http_code}' -H 'Authorization: Token \(token)' \(data) 'http://127.0.0.1:\(port)\(path)'",
                in: folder.url
            )
            let lines = await line.lines()
            return (lines.last ?? "000", lines.dropLast().joined())
        }

        mutating func kill() async {
            await running?.end(by: SIGKILL)
            running = nil
        }

        /// The rows that the files of the source hold for whoever opens them now; `nil` when nobody can.
        func heldRows() throws -> Set<String>? {
            let copy = try TemporaryFolder()
            for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: folder.path("source.db") + suffix) {
                try FileManager.default.copyItem(
                    atPath: folder.path("source.db") + suffix,
                    toPath: copy.path("source.db") + suffix
                )
            }
            // SQLite would throw the log away.
            guard DataFileTests.length(of: copy.path("source.db")) > 0 else { return nil }
            return try? rows(of: copy.path("source.db"))
        }

        /// The rows of a source.
        func rows(of path: String) throws -> Set<String> {
            try DatabaseQueue(path: path).read { db in
                #expect(try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok")
                // The table itself may have been in a log that is gone.
                return try db.tableExists("lists") ? Set(try String.fetchAll(db, sql: "SELECT id FROM lists")) : []
            }
        }
    }

    @Test(
        arguments: ["source.db", "source.db-wal", "source.db-shm", "buckets.db", "buckets.db-wal", "buckets.db-shm"]
            .flatMap {
                file in Fault.allCases.map { (file: file, fault: $0) }
            }.one(in: 2)
    )
    func nothingIsAcknowledgedThatIsLost(_ file: String, _ fault: Fault) async throws {
        var service = try Service(isNobody: fault == .readOnly)
        let started = try await service.start()
        try #require(started.isReady, "\(started.said)")
        var acknowledged: Set<String> = []
        for number in 0..<20 {
            if try await service.write("a\(number)") { acknowledged.insert("a\(number)") }
        }
        #expect(acknowledged.count == 20)
        #expect(try await service.acknowledgesUploads())

        try fault.happen(to: service.folder.path(file))
        let clock = ContinuousClock()
        let start = clock.now
        let said = await service.waitForFault()
        // A second, and what a busy machine adds.
        #expect(clock.now - start < .seconds(5))
        // The system ends a process whose memory is cut from under it.
        let mayEnd = file.hasSuffix("-shm") && [.emptied, .cut].contains(fault)
        #expect(
            said.contains("Database files are gone")
                || mayEnd && said.contains("a file that the process has in memory"),
            "\(said)"
        )
        #expect(try await !service.write("late"))
        #expect(try await !service.acknowledgesUploads())
        #expect(try await service.readiness() != "200")
        await service.kill()

        let path = service.folder.path("source.db")
        let held = try service.heldRows()
        if fault == .readOnly {
            let refused = try await service.start()
            #expect(!refused.isReady)
            #expect(refused.said.contains { $0.contains(file.prefix { $0 != "-" }) }, "\(refused.said)")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: service.folder.path(file))
        }
        let again = try await service.start()
        if !file.hasPrefix("source.db") || file.hasSuffix("-shm") || fault == .readOnly {
            #expect(held?.isSuperset(of: acknowledged) == true)
        }
        if let held {
            // A storage that is damaged is said to be, and made anew from the source.
            if !again.isReady {
                #expect(
                    file.hasPrefix("buckets.db") && again.said.contains { $0.contains("buckets.db") },
                    "\(again.said)"
                )
            } else {
                #expect(try service.rows(of: path).isSuperset(of: held.subtracting(["late"])))
                #expect(try await service.write("next"))
            }
        } else {
            #expect(!again.isReady)
            #expect(again.said.contains { $0.contains(path) }, "\(again.said)")
        }
        await service.kill()
    }

    @Test(
        arguments: ["source.db", "source.db-wal", "source.db-shm", "buckets.db", "buckets.db-wal", "buckets.db-shm"],
        [Fault.deleted, .emptied, .cut]
    )
    func whatHappensToTheFilesOfAProcessThatWasKilled(_ file: String, _ fault: Fault) async throws {
        var service = try Service(isNobody: false)
        try #require(try await service.start().isReady)
        for number in 0..<20 { #expect(try await service.write("a\(number)")) }
        await service.kill()
        try fault.happen(to: service.folder.path(file))
        let held = try service.heldRows()
        let again = try await service.start()
        if let held, again.isReady {
            #expect(try service.rows(of: service.folder.path("source.db")).isSuperset(of: held))
            #expect(try await service.write("next"))
            #expect(try await service.acknowledgesUploads())
        } else {
            // Rows of the source that nobody can read, or a storage that is to be made again.
            let named = held == nil ? "source.db" : "buckets.db"
            #expect(file.hasPrefix(named) && again.said.contains { $0.contains(named) }, "\(again.said)")
        }
        await service.kill()
    }

    @Test
    func olderCopyIsPutInThePlaceOfASourceWhoseProcessWasKilled() async throws {
        var service = try Service(isNobody: false)
        try #require(try await service.start().isReady)
        for number in 0..<20 { #expect(try await service.write("a\(number)")) }
        await service.kill()
        let path = service.folder.path("source.db")
        try await DatabaseQueue(path: path).writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try FileManager.default.copyItem(atPath: path, toPath: path + ".older")
        try #require(try await service.start().isReady)
        for number in 0..<400 { #expect(try await service.write("b\(number)")) }
        await service.kill()
        try #require(DataFileTests.length(of: path + "-wal") > 0)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: path + ".older", toPath: path)

        let refused = try await service.start()
        #expect(!refused.isReady)
        #expect(
            refused.said.contains { $0.contains("\(path) and \(path)-wal do not belong together") },
            "\(refused.said)"
        )
        for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
        #expect(try await service.start().isReady)
        #expect(try await service.write("next"))
        let held = try service.rows(of: path)
        #expect(held.isSuperset(of: (0..<20).map { "a\($0)" }))
        await service.kill()
    }
}
