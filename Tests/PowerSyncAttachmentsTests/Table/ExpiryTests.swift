import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What leaves the cache of archived files.
@Suite(.timeLimit(.minutes(1)))
struct ExpiryTests {
    /// Runs rounds until nothing is left, removing files from the storage.
    ///
    /// - Returns: The number of rounds.
    @discardableResult
    private func expireAll(_ rows: AttachmentRows, byteLimit: Int64? = nil) async throws -> Int {
        var (rounds, failed) = (0, Set<String>())
        while true {
            let round = try await rows.context.expire(byteLimit: byteLimit, besides: failed) {
                [storage = rows.storage] in
                if let path = $0.localUri { try await storage.deleteFile(filePath: path) }
            }
            rounds += 1
            failed = round.failed
            if round.isComplete { return rounds }
        }
    }

    private func paths(_ names: String...) -> [String] {
        names.map { "/files/\($0).jpg" }
    }

    private func archived(_ id: String, _ timestamp: Int, hasSynced: Bool = true, size: Int64? = 5) -> Attachment {
        .row(id, .archived, hasSynced: hasSynced, localUri: "/files/\(id).jpg", timestamp: timestamp, size: size)
    }

    @Test
    func newestStay() async throws {
        try await AttachmentRows.with(limit: 2, files: paths("a", "b", "c", "d", "e")) { rows async throws in
            for id in ["e", "d", "c", "b", "a"] {
                try await rows.insert(.row(id, .synced, hasSynced: true, localUri: "/files/\(id).jpg", timestamp: 1))
            }
            let order = ["c", "a", "e", "b", "d"]
            for unlinked in 1...5 {
                try await rows.process(Array(order.dropFirst(unlinked)), at: Int64(100 + unlinked))
            }
            #expect(try await expireAll(rows) == 1)
            #expect(try await Set(rows.context.getAttachmentIds()) == ["b", "d"])
            #expect(rows.storage.files.keys.sorted() == paths("b", "d"))
        }
    }

    @Test(
        arguments: [86_400_000, -86_400_000]
    )
    func clockThatJumpsByADayLosesNothingButWhatTheCacheHasNoRoomFor(milliseconds: Int64) async throws {
        try await AttachmentRows.with(limit: 1, files: paths("a", "b", "c")) { rows async throws in
            rows.time = 100_000_000
            try await rows.insert(
                .row("a", .synced, hasSynced: true, localUri: "/files/a.jpg", timestamp: 100_000_000),
                .row("b", .synced, hasSynced: true, localUri: "/files/b.jpg", timestamp: 100_000_000),
                .row("c", .queuedUpload, hasSynced: false, localUri: "/files/c.jpg", timestamp: 100_000_000)
            )
            try await rows.process(["b", "c"], at: rows.time)
            rows.time += milliseconds
            try await rows.process(["c"], at: rows.time)
            #expect(try await expireAll(rows) == 1)
            // The one that was archived last, by what the clock says; what waits to be uploaded stays in any case.
            let kept = milliseconds > 0 ? "b" : "a"
            #expect(try await Set(rows.context.getAttachmentIds()) == [kept, "c"])
            #expect(rows.storage.files.keys.sorted() == paths(kept, "c").sorted())
            #expect(try await rows.state("c") == .queuedUpload)
        }
    }

    @Test
    func withNothingArchivedNothingHappens() async throws {
        try await AttachmentRows.with(limit: 0) { rows async throws in
            try await rows.insert(.row(.synced))
            #expect(try await expireAll(rows) == 1)
            #expect(try await rows.context.deleteArchivedAttachments { _ in Issue.record("nothing expired") })
            #expect(try await rows.all().count == 1)
        }
    }

    @Test(arguments: [(2500, 3), (1000, 2), (999, 1)])
    func manyExpireInRounds(count: Int, expectedRounds: Int) async throws {
        let files = (0..<count).map { "/files/\($0).jpg" }
        try await AttachmentRows.with(limit: 0, files: files) { rows async throws in
            try await rows.context.saveAttachments(attachments: (0..<count).map { archived("\($0)", 1) })
            #expect(try await expireAll(rows) == expectedRounds)
            #expect(try await rows.context.getAttachmentIds().isEmpty)
            #expect(rows.storage.files.isEmpty)
        }
    }

    @Test
    func rowThatIsRestoredDuringAnExpiryKeepsItsFile() async throws {
        try await AttachmentRows.with(limit: 0, files: paths("a", "b")) { rows async throws in
            try await rows.insert(archived("a", 1), archived("b", 2))
            let (db, storage) = (rows.db, rows.storage)
            let round = try await rows.context.expire { attachment in
                #expect(attachment.id == "b")
                try await db.execute("UPDATE attachments SET state = 3 WHERE id = 'a'")
                try await storage.deleteFile(filePath: attachment.localUri ?? "")
            }
            #expect(round.isComplete)
            #expect(try await rows.state("a") == .synced)
            #expect(try await rows.state("b") == nil)
            #expect(rows.storage.files.keys.sorted() == paths("a"))
        }
    }

    @Test
    func fileThatCannotBeRemovedKeepsItsRowUntilItCan() async throws {
        struct Denied: Error {}
        try await AttachmentRows.with(limit: 0, files: paths("a", "b", "c")) { rows async throws in
            try await rows.insert(archived("a", 1), archived("b", 2), archived("c", 3))
            rows.storage.fail(.delete, path: "/files/b.jpg", with: Denied())
            #expect(try await expireAll(rows) == 1)
            #expect(try await rows.context.getAttachmentIds() == ["b"])
            #expect(rows.storage.files.keys.sorted() == paths("b"))
            #expect(rows.messages(.error).count == 1)
            rows.storage.stopFailing()
            try await expireAll(rows)
            #expect(try await rows.context.getAttachmentIds().isEmpty)
        }
    }

    @Test
    func thousandFilesThatCannotBeRemovedDoNotKeepTheOthers() async throws {
        struct Denied: Error {}
        try await AttachmentRows.with(limit: 0) { rows async throws in
            try await rows.context.saveAttachments(attachments: (0..<1000).map { archived("new-\($0)", 0) })
            try await rows.insert(archived("old", 1))
            let rounds = NIOLockedValueBox(0)
            var failed: Set<String> = []
            var round: ExpiryRound = (false, [])
            while !round.isComplete {
                round = try await rows.context.expire(besides: failed) { attachment in
                    if attachment.id != "old" { throw Denied() }
                }
                failed = round.failed
                rounds.withLockedValue { $0 += 1 }
            }
            #expect(rounds.withLockedValue { $0 } == 2)
            #expect(try await rows.context.getAttachmentIds().count == 1000)
            #expect(try await rows.state("old") == nil)
        }
    }

    @Test
    func fileThatExistsNowhereElseExpiresWithAWarning() async throws {
        try await AttachmentRows.with(limit: 0, files: paths("a", "b")) { rows async throws in
            try await rows.insert(archived("a", 1, hasSynced: false), archived("b", 2), .row("c", .archived))
            try await expireAll(rows)
            #expect(try await rows.context.getAttachmentIds().isEmpty)
            let warnings = rows.messages(.warning)
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("a.jpg") == true)
        }
    }

    @Test
    func cacheIsLimitedByBytesAsWell() async throws {
        try await AttachmentRows.with(limit: 3, files: paths("a", "b", "c", "d", "e")) { rows async throws in
            try await rows.insert(
                archived("a", 1, size: 1),
                archived("b", 2, size: 60),
                archived("c", 3, size: nil),
                .row("n", .archived, timestamp: 4, size: 1000),
                archived("d", 5, size: 50)
            )
            try await expireAll(rows, byteLimit: 100)
            #expect(try await Set(rows.context.getAttachmentIds()) == ["d", "n", "c"])
            try await expireAll(rows, byteLimit: 49)
            #expect(try await rows.context.getAttachmentIds().isEmpty)
        }
    }

    @Test
    func fileThatSeveralRowsReferToGoesWithTheLastOfThem() async throws {
        try await AttachmentRows.with(limit: 0, files: paths("x")) { rows async throws in
            let path = "/files/x.jpg"
            try await rows.insert(
                .row("a", .archived, hasSynced: true, localUri: path),
                .row("b", .archived, hasSynced: true, localUri: path),
                .row("c", .synced, hasSynced: true, localUri: path)
            )
            try await expireAll(rows)
            #expect(try await rows.context.getAttachmentIds() == ["c"])
            #expect(rows.storage.files.keys.sorted() == [path])
            try await rows.process([], at: 20)
            try await expireAll(rows)
            #expect(rows.storage.files.isEmpty)
        }
    }

    @Test
    func callbackOfTheAppThatFailsKeepsAllRows() async throws {
        struct Denied: Error {}
        try await AttachmentRows.with(limit: 1) { rows async throws in
            try await rows.insert(archived("a", 1), archived("b", 2), archived("c", 3))
            await #expect(throws: Denied.self) {
                try await rows.context.deleteArchivedAttachments { _ in throw Denied() }
            }
            #expect(try await rows.context.getAttachmentIds().count == 3)
            let seen = NIOLockedValueBox<[String]>([])
            let isComplete = try await rows.context.deleteArchivedAttachments { expired in
                seen.withLockedValue { $0 = expired.map(\.id) }
            }
            #expect(isComplete)
            #expect(seen.withLockedValue { $0 } == ["b", "a"])
            #expect(try await rows.context.getAttachmentIds() == ["c"])
        }
    }
}
