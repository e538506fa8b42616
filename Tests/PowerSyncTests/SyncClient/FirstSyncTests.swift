import Dispatch
import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// What others see of a first sync while it runs, on a file.
@Suite(.timeLimit(.minutes(2))) struct FirstSyncTests {
    /// Runs a body with a harness on a file, and closes it.
    private func withHarness(_ body: (SyncHarness, String) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("first.db").path
            let harness = SyncHarness(path: path)
            try await body(harness, path)
            try await harness.database.close()
        }
    }

    private static func count(_ context: any ConnectionContext) throws -> Int {
        try context.get(sql: "SELECT count(*) FROM lists", parameters: []) { try $0.getInt(index: 0) }
    }

    @Test func openReadTransactionKeepsItsSnapshotAndNewReadsSeeTheCheckpoint() async throws {
        try await withHarness { harness, _ in
            let (began, resume) = (TaskGate(), DispatchSemaphore(value: 0))
            defer { resume.signal() }
            let stream = try await harness.connectAndAccept()
            let reading = Task {
                try await harness.database.readTransaction { transaction in
                    let before = try Self.count(transaction)
                    began.open()
                    resume.wait()
                    return [before, try Self.count(transaction)]
                }
            }
            try await began.pass()
            stream.send(.checkpoint(1000, [.bucket("a", count: 1000)]), .put("a", 1...1000), .done)
            try await harness.wait { $0.hasSynced == true }
            #expect(try await harness.integer("SELECT count(*) FROM lists") == 1000)
            resume.signal()
            #expect(try await reading.value == [0, 0])
        }
    }

    @Test func readsDoNotWaitForTheWriter() async throws {
        try await withHarness { harness, _ in
            let (began, resume) = (TaskGate(), DispatchSemaphore(value: 0))
            defer { resume.signal() }
            _ = try await harness.lists()
            let writing = Task {
                try await harness.database.writeTransaction { transaction in
                    try transaction.execute(sql: "INSERT INTO lists (id, name) VALUES ('x', 'y')", parameters: [])
                    began.open()
                    resume.wait()
                }
            }
            try await began.pass()
            // More than there are reading connections.
            for _ in 0..<8 { #expect(try await harness.lists().isEmpty) }
            resume.signal()
            _ = try await writing.value
            #expect(try await harness.lists() == ["x": "y"])
        }
    }

    @Test func readsDuringTheSyncSeeNothingOrEverything() async throws {
        try await withHarness { harness, _ in
            let stream = try await harness.connectAndAccept()
            let counts = await withTaskGroup(of: Result<Set<Int>, any Error>.self) { tasks in
                for _ in 0..<3 {
                    tasks.addTask {
                        var counts: Set<Int> = []
                        do {
                            while harness.database.currentStatus.hasSynced != true {
                                counts.insert(try await harness.integer("SELECT count(*) FROM lists") ?? -1)
                            }
                            return .success(counts)
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                // Announced as enough for a bulk load.
                stream.send(.checkpoint(4_000, [.bucket("a", count: 20_000)]))
                for line in 0..<20 {
                    stream.send(.put("a", Int64(line * 200 + 1)...Int64(line * 200 + 200)))
                }
                stream.send(.done)
                return await tasks.reduce(into: [Result<Set<Int>, any Error>]()) { $0.append($1) }
            }
            for result in counts { #expect(try result.get().isSubset(of: [0, 4_000])) }
            #expect(try await harness.integer("SELECT count(*) FROM lists") == 4_000)
            #expect(harness.log.messages(.error).isEmpty)
        }
    }

    @Test func linesThatComeSlowlyAreCommittedAsTheyCome() async throws {
        try await withHarness { harness, path in
            let stream = try await harness.connectAndAccept()
            stream.send(.checkpoint(5, [.bucket("a", count: 5)]))
            for opID in Int32(1)...5 {
                stream.send(.put("a", Int64(opID)...Int64(opID)))
                try await harness.wait { $0.downloadProgress?.downloadedOperations == opID }
                // On disk, for whoever opens the file.
                let stored = try await DatabaseQueue(path: path).read { db in
                    try Int32.fetchOne(db, sql: "SELECT count(*) FROM ps_oplog")
                }
                #expect(stored == opID)
            }
            #expect(harness.clock.now.offset == .zero)
        }
    }

    @Test func writeAheadLogStaysSmall() async throws {
        try await withHarness { harness, path in
            let file = URL(fileURLWithPath: "\(path)-wal")
            let wal = { try FileHandle(forReadingFrom: file).seekToEnd() }
            let stream = try await harness.connectAndAccept()
            let (lines, rows) = (30, 50)
            let data = #"{"name":"\#(String(repeating: "x", count: 10_000))"}"#
            stream.send(.checkpoint(Int64(lines * rows), [.bucket("a", count: Int64(lines * rows))]))
            var largest: UInt64 = 0
            for number in 0..<lines {
                var line = DataLine(bucket: BucketName("a"))
                for row in 1...rows {
                    let opID = Int64(number * rows + row)
                    line.append(
                        .put,
                        opID: OpID(opID),
                        checksum: .zero,
                        objectType: "lists",
                        objectID: "\(opID)",
                        data: data
                    )
                }
                stream.send(.data(line))
                let downloaded = Int32((number + 1) * rows)
                try await harness.wait { $0.downloadProgress?.downloadedOperations == downloaded }
                largest = max(largest, try wal())
            }
            // 15 MB of data; SQLite checkpoints after 4 MB.
            #expect(largest > 0 && largest < 10_000_000, "\(largest)")
            stream.send(.done)
            try await harness.wait { $0.hasSynced == true }
            // The transaction that shows everything is as large as the data. The next ones make the file small again.
            for number in 0..<3 { try await harness.insert("local \(number)") }
            #expect(try wal() <= 6_400_000)
        }
    }
}
