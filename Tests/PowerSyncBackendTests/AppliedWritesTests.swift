import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncUpload
import TestSupport
import Testing

@testable import PowerSyncBackend

/// Uploads that come twice, out of order, at the same time, or from a client that counts anew.
@Suite(.timeLimit(.minutes(1))) struct AppliedWritesTests {
    @Test func whatComesTwiceIsAppliedOnce() async throws {
        let scenario = try UploadScenario()
        let entries = (1...5).map { UploadScenario.put(Int64($0), "\($0)", transaction: 1) }
        for _ in 0..<3 { #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 5)) }
        #expect(try await scenario.log().count == 5)
    }

    @Test func withoutAClientNothingIsRemembered() async throws {
        let scenario = try UploadScenario()
        for _ in 0..<2 { try await scenario.apply([UploadScenario.put(1, "a")], client: nil) }
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    @Test func cutsDoNotMatter() async throws {
        let scenario = try UploadScenario()
        let entries = (1...6).map { UploadScenario.put(Int64($0), "\($0)", transaction: 1) }
        try await scenario.apply(Array(entries[..<4]))
        var others = entries
        for index in others.indices { others[index].transactionID = Int64(index / 2) }
        #expect(try await scenario.apply(others) == UploadResponse(appliedThrough: 6))
        #expect(try await scenario.log().count == 6)
    }

    @Test func theSameRequestAtTheSameTimeIsAppliedOnce() async throws {
        let scenario = try UploadScenario()
        // A process of its own for half of them, as far as SQLite can tell.
        let other = SQLiteUploadApplier(
            try DatabasePool(path: scenario.folder.path("backend.db"), configuration: UploadScenario.configuration)
        ) { _, _ in .apply }
        let request = UploadRequest(
            clientID: "c1",
            entries: (1...200).map { UploadScenario.put(Int64($0), "\($0)", transaction: Int64($0 / 10)) }
        )
        try await withThrowingTaskGroup(of: UploadResponse.self) { group in
            for index in 0..<8 {
                let applier = index.isMultiple(of: 2) ? scenario.applier : other
                group.addTask { try await applier.apply(request, for: BackendUser(id: "u1")) }
            }
            for try await response in group { #expect(response == UploadResponse(appliedThrough: 200)) }
        }
        #expect(try await scenario.log().count == 200)
    }

    @Test func requestsMayComeOutOfOrder() async throws {
        let scenario = try UploadScenario()
        let first = [UploadScenario.put(1, "a"), UploadScenario.put(2, "b")]
        let second = [UploadScenario.put(3, "c"), UploadScenario.put(4, "d")]
        for request in [second, first, second, first] {
            #expect(try await scenario.apply(request).appliedThrough == request.last?.operationID)
        }
        #expect(try await scenario.log() == ["+c", "+d", "+a", "+b"])
    }

    @Test func usersAndClientsAreToldApart() async throws {
        let scenario = try UploadScenario()
        let entry = UploadScenario.put(1, "a")
        let pairs = [("u", "c"), ("u\u{0}", "c"), ("u", "c\u{0}"), ("u\u{0}x", "c"), ("uc", ""), ("", "uc")]
        for (user, client) in pairs where !client.isEmpty {
            for _ in 0..<2 { try await scenario.apply([entry], client: client, user: user) }
        }
        #expect(try await scenario.log() == ["+a", "=a", "=a", "=a", "=a"])
    }

    @Test func aClientMayCountAnew() async throws {
        let scenario = try UploadScenario()
        try await scenario.apply((1...6).map { UploadScenario.put(Int64($0), "old\($0)") })
        // The copy was made when 3 was in the queue: that comes again, and then other writes with used numbers.
        let response = try await scenario.apply([
            UploadScenario.put(3, "old3"), UploadScenario.put(4, "new4"), UploadScenario.put(6, "old6"),
        ])
        #expect(response == UploadResponse(appliedThrough: 6))
        #expect(try await scenario.log() == (1...6).map { "+old\($0)" } + ["+new4", "=old6"])
        // And these are remembered from now on.
        try await scenario.apply([UploadScenario.put(4, "new4"), UploadScenario.put(6, "old6")])
        #expect(try await scenario.log().count == 8)
    }

    @Test func aRejectedTransactionDoesNotMakeTheClientCountAnew() async throws {
        let scenario = try UploadScenario { write, _ in write.entry.id == "bad" ? .reject("no") : .apply }
        let entries = [UploadScenario.put(1, "a"), UploadScenario.put(2, "b")]
        try await scenario.apply(entries)
        let response = try await scenario.apply([
            UploadScenario.put(1, "other", transaction: 1), UploadScenario.put(2, "bad", transaction: 1),
        ])
        #expect(response.rejections.count == 2)
        #expect(try await scenario.rememberedWrites() == 2)
        try await scenario.apply(entries)
        #expect(try await scenario.log() == ["+a", "+b"])
    }

    @Test func whatIsRememberedIsBounded() async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 10
        let scenario = try UploadScenario(options: options)
        for request in 0..<20 {
            let entries = (1...7).map { UploadScenario.put(Int64(request * 7 + $0), "\(request) \($0)") }
            try await scenario.apply(entries)
            // Of the request before, some are among the newest; of this one, all may come again.
            #expect(try await scenario.rememberedWrites() <= 17)
            try await scenario.apply(entries)
        }
        #expect(try await scenario.log().count == 140)
    }

    @Test func allWritesOfTheLastRequestAreRememberedHoweverMany() async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 0
        let scenario = try UploadScenario(options: options)
        let entries = (1...500).map { UploadScenario.put(Int64($0), "\($0)", transaction: 1) }
        for _ in 0..<2 { try await scenario.apply(entries) }
        try await scenario.apply(Array(entries[250...]) + [UploadScenario.put(501, "501")])
        #expect(try await scenario.rememberedWrites() == 251)
        #expect(try await scenario.log().count == 501)
    }

    @Test func forgottenNumbersAreRejected() async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 2
        let scenario = try UploadScenario(options: options)
        for number in 1...6 { try await scenario.apply([UploadScenario.put(Int64(number), "\(number)")]) }
        let response = try await scenario.apply([
            UploadScenario.put(2, "2", transaction: 1), UploadScenario.put(6, "other", transaction: 1),
        ])
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.code) == [.numberForgotten, .transactionRejected])
        #expect(response.rejections.allSatisfy { $0.isPermanent })
        #expect(try await scenario.log().count == 6)
        // Numbers that nobody has used are fine, and so are those of another client.
        #expect(try await scenario.apply([UploadScenario.put(7, "7")]).appliedThrough == 7)
        #expect(try await scenario.apply([UploadScenario.put(2, "2")], client: "c2").appliedThrough == 2)
    }

    @Test func clientsThatAreGoneCanBeForgotten() async throws {
        let scenario = try UploadScenario()
        let entry = UploadScenario.put(1, "a")
        try await scenario.apply([entry])
        #expect(try await scenario.applier.forgetClients(notSeenSince: .distantPast) == 0)
        #expect(try await scenario.applier.forgetClients(notSeenSince: .now.addingTimeInterval(60)) == 1)
        #expect(try await scenario.rememberedWrites() == 0)
        try await scenario.apply([entry])
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    @Test func theDigestOfAWriteNeverChangesOrWritesOfBeforeAnUpdateWouldBeAppliedAgain() async throws {
        let scenario = try UploadScenario()
        try await scenario.apply([
            UploadEntry(
                operationID: 1,
                op: .put,
                table: "lists",
                id: "é",
                transactionID: 3,
                data: ["name": .double(1), "owner_id": .string("\u{2028}\"")],
                previousValues: ["name": .int(1)],
                metadata: "m"
            )
        ])
        let digest = try await scenario.database.read { db in
            try String.fetchOne(db, sql: "SELECT hex(digest) FROM _ps_upload_writes")
        }
        #expect(digest == "C5724BE58C1BD52773096D5ACEECE698")
    }

    /// A client that loses answers, and a server that dies before it commits, at each of their steps.
    @Test(arguments: 1...12)
    func nothingIsLostOrAppliedTwiceWhereverItBreaks(step: Int) async throws {
        struct Killed: Error {}
        let steps = Steps()
        let scenario = try UploadScenario { _, _ in
            if steps.next() == step { throw Killed() }
            return .apply
        }
        // Twelve writes in transactions of three, sent in requests of at most two transactions.
        var queue = (1...12).map { UploadScenario.put(Int64($0), "\($0)", transaction: Int64(($0 - 1) / 3)) }
        var answers = 0
        while !queue.isEmpty {
            guard let response = try? await scenario.apply(Array(queue.prefix(6))) else { continue }
            answers += 1
            // The answer with this number is lost.
            if answers == step { continue }
            #expect(response.rejections.isEmpty)
            let applied = response.appliedThrough ?? 0
            queue.removeAll { $0.operationID <= applied }
        }
        #expect(try await scenario.log().sorted() == (1...12).map { "+\($0)" }.sorted())
    }
}

/// Counts from 1.
private final class Steps: Sendable {
    private let count = NIOLockedValueBox(0)

    func next() -> Int {
        count.withLockedValue { count in
            count += 1
            return count
        }
    }
}
