import Foundation
import NIOConcurrencyHelpers
import PowerSyncBackend
import Testing

/// Uploads that come twice, out of order, at the same time, or from a client that counts anew.
@Suite(.timeLimit(.minutes(2))) struct ApplierRecordsTests {
    private typealias Scenario = ApplierScenario

    @Test(arguments: Kind.allCases) func whatComesTwiceIsAppliedOnce(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let entries = (1...5).map { Scenario.put(Int64($0), "\($0)", transaction: 1) }
        for _ in 0..<3 { #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 5)) }
        #expect(try await scenario.log().count == 5)
    }

    @Test(arguments: Kind.allCases) func withoutAClientNothingIsRemembered(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        for _ in 0..<2 { try await scenario.apply([Scenario.put(1, "a")], client: nil) }
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    @Test(arguments: Kind.allCases) func cutsDoNotMatter(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let entries = (1...6).map { Scenario.put(Int64($0), "\($0)", transaction: 1) }
        try await scenario.apply(Array(entries[..<4]))
        var others = entries
        for index in others.indices { others[index].transactionID = Int64(index / 2) }
        #expect(try await scenario.apply(others) == UploadResponse(appliedThrough: 6))
        #expect(try await scenario.log().count == 6)
    }

    @Test(arguments: Kind.allCases) func theSameRequestAtTheSameTimeIsAppliedOnce(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let other = try await scenario.database.anotherApplier(UploadApplierOptions(), .everything)
        let request = UploadRequest(
            clientID: "c1",
            entries: (1...100).map { Scenario.put(Int64($0), "\($0)", transaction: Int64($0 / 10)) }
        )
        try await withThrowingTaskGroup(of: UploadResponse.self) { group in
            for index in 0..<8 {
                let applier = index.isMultiple(of: 2) ? scenario.database.applier : other
                group.addTask { try await applier.apply(request, for: BackendUser(id: "u1")) }
            }
            for try await response in group { #expect(response == UploadResponse(appliedThrough: 100)) }
        }
        #expect(try await scenario.log().count == 100)
    }

    /// They write the same rows in different orders; a request that was begun again too often is sent again, as clients do.
    @Test(arguments: Kind.allCases, ["lists", "notes"])
    func devicesOfOneUserAtTheSameTimeLoseNothing(_ kind: Kind, table: String) async throws {
        let scenario = try await Scenario(kind)
        try await withThrowingTaskGroup(of: UploadResponse.self) { group in
            for device in 0..<8 {
                var ids = (0..<20).map { "row\($0)" }
                if device.isMultiple(of: 2) { ids.reverse() }
                let entries = ids.enumerated().map { index, id in
                    Scenario.put(Int64(index + 1), id, transaction: Int64(index / 5), name: "\(device)", table: table)
                }
                group.addTask {
                    for _ in 0..<5 {
                        do {
                            return try await scenario.apply(entries, client: "device\(device)")
                        } catch {}
                    }
                    return try await scenario.apply(entries, client: "device\(device)")
                }
            }
            for try await response in group { #expect(response == UploadResponse(appliedThrough: 20)) }
        }
        #expect(try await scenario.rows(table).count == 20)
        #expect(try await scenario.rememberedWrites() == 160)
        if table == "lists" { #expect(try await scenario.log().count == 160) }
    }

    @Test(arguments: Kind.allCases) func requestsMayComeOutOfOrder(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let first = [Scenario.put(1, "a"), Scenario.put(2, "b")]
        let second = [Scenario.put(3, "c"), Scenario.put(4, "d")]
        for request in [second, first, second, first] {
            #expect(try await scenario.apply(request).appliedThrough == request.last?.operationID)
        }
        #expect(try await scenario.log() == ["+c", "+d", "+a", "+b"])
    }

    @Test(arguments: Kind.allCases) func usersAndClientsAreToldApart(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let entry = Scenario.put(1, "a")
        let pairs = [
            ("u", "c"), ("u\u{0}", "c"), ("u", "c\u{0}"), ("u\u{0}x", "c"), ("U", "c"), ("caf\u{e9}", "c"),
            ("cafe\u{301}", "c"), ("", "uc"),
        ]
        for (user, client) in pairs {
            for _ in 0..<2 { try await scenario.apply([entry], client: client, user: user) }
        }
        #expect(try await scenario.log() == ["+a"] + Array(repeating: "=a", count: pairs.count - 1))
    }

    @Test(arguments: Kind.allCases) func aClientMayCountAnew(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.apply((1...6).map { Scenario.put($0, "old\($0)") })
        // The copy was made when 3 was in the queue: that comes again, and then other writes with used numbers.
        let response = try await scenario.apply([
            Scenario.put(3, "old3"), Scenario.put(4, "new4"), Scenario.put(6, "old6"),
        ])
        #expect(response == UploadResponse(appliedThrough: 6))
        #expect(try await scenario.log() == (1...6).map { "+old\($0)" } + ["+new4", "=old6"])
        // And these are remembered from now on.
        try await scenario.apply([Scenario.put(4, "new4"), Scenario.put(6, "old6")])
        #expect(try await scenario.log().count == 8)
    }

    @Test(arguments: Kind.allCases) func aRejectedTransactionDoesNotMakeTheClientCountAnew(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind, rule: .about { $0.id == "bad" ? .reject("no") : .apply })
        let entries = [Scenario.put(1, "a"), Scenario.put(2, "b")]
        try await scenario.apply(entries)
        let response = try await scenario.apply([
            Scenario.put(1, "other", transaction: 1), Scenario.put(2, "bad", transaction: 1),
        ])
        #expect(response.rejections.count == 2)
        #expect(try await scenario.rememberedWrites() == 2)
        try await scenario.apply(entries)
        #expect(try await scenario.log() == ["+a", "+b"])
    }

    @Test(arguments: Kind.allCases) func whatIsRememberedIsBounded(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 10
        let scenario = try await Scenario(kind, options: options)
        for request in 0..<10 {
            let entries = (1...7).map { Scenario.put(Int64(request * 7 + $0), "\(request) \($0)") }
            try await scenario.apply(entries)
            // Of the request before, some are among the newest; of this one, all may come again.
            #expect(try await scenario.rememberedWrites() <= 17)
            try await scenario.apply(entries)
        }
        #expect(try await scenario.log().count == 70)
    }

    @Test(arguments: Kind.allCases) func allWritesOfTheLastRequestAreRememberedHoweverMany(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 0
        let scenario = try await Scenario(kind, options: options)
        let entries = (1...300).map { Scenario.put(Int64($0), "\($0)", transaction: 1, table: "notes") }
        for _ in 0..<2 { try await scenario.apply(entries) }
        try await scenario.apply(Array(entries[150...]) + [Scenario.put(301, "301", table: "notes")])
        #expect(try await scenario.rememberedWrites() == 151)
        #expect(try await scenario.rows("notes").count == 301)
    }

    @Test(arguments: Kind.allCases) func forgottenNumbersAreRejected(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.rememberedWrites = 2
        let scenario = try await Scenario(kind, options: options)
        for number in 1...6 { try await scenario.apply([Scenario.put(Int64(number), "\(number)")]) }
        let response = try await scenario.apply([
            Scenario.put(2, "2", transaction: 1), Scenario.put(6, "other", transaction: 1),
        ])
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.code) == [.numberForgotten, .transactionRejected])
        #expect(response.rejections.allSatisfy { $0.isPermanent })
        #expect(try await scenario.log().count == 6)
        // Numbers that were never used are fine, and so are those of another client.
        #expect(try await scenario.apply([Scenario.put(7, "7")]).appliedThrough == 7)
        #expect(try await scenario.apply([Scenario.put(2, "2")], client: "c2").appliedThrough == 2)
    }

    @Test(arguments: Kind.allCases) func clientsThatAreGoneCanBeForgotten(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
        let entry = Scenario.put(1, "a")
        try await scenario.apply([entry])
        #expect(try await scenario.database.forgetClients(notSeenSince: .distantPast) == 0)
        #expect(try await scenario.database.forgetClients(notSeenSince: .now.addingTimeInterval(60)) == 1)
        #expect(try await scenario.rememberedWrites() == 0)
        try await scenario.apply([entry])
        #expect(try await scenario.log() == ["+a", "=a"])
    }

    /// Writes of before an update would be applied again.
    @Test(arguments: Kind.allCases) func theDigestOfAWriteNeverChanges(_ kind: Kind) async throws {
        let scenario = try await Scenario(kind)
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
        let digest = kind == .postgres ? "upper(encode(digest, 'hex'))" : "hex(digest)"
        #expect(
            try await scenario.database.run("SELECT \(digest) FROM _ps_upload_writes")
                == [["C5724BE58C1BD52773096D5ACEECE698"]]
        )
    }

    /// A client that loses answers, and a decision that fails, at each of their steps.
    @Test(arguments: Kind.allCases, [1, 2, 4, 7, 12])
    func nothingIsLostOrAppliedTwiceWhereverItBreaks(_ kind: Kind, step: Int) async throws {
        struct Killed: Error {}
        let steps = NIOLockedValueBox(0)
        let scenario = try await Scenario(
            kind,
            rule: .about { _ in
                let number = steps.withLockedValue { steps in
                    steps += 1
                    return steps
                }
                if number == step { throw Killed() }
                return .apply
            }
        )
        // Twelve writes in transactions of three, sent in requests of at most two transactions.
        var queue = (1...12).map { Scenario.put(Int64($0), "\($0)", transaction: Int64(($0 - 1) / 3)) }
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
