import NIOConcurrencyHelpers
import PowerSyncUpload
import Testing

@testable import PowerSyncBackend

/// What the appliers over database servers do beside SQL: time, attempts, and how much is read.
@Suite(.timeLimit(.minutes(1))) struct ServerApplierTests {
    private static func timing(
        _ pauses: NIOLockedValueBox<[Duration]> = NIOLockedValueBox([]),
        random: Double = 1
    ) -> UploadTiming {
        UploadTiming(
            sleep: { duration in
                // The limit of the request, which is never reached.
                guard duration < .seconds(10) else { return try await ContinuousClock().sleep(for: .seconds(3600)) }
                pauses.withLockedValue { $0.append(duration) }
            },
            random: { random }
        )
    }

    private static func patch(_ number: Int, _ id: String) -> UploadEntry {
        UploadEntry(
            operationID: Int64(number),
            op: .patch,
            table: "notes",
            id: id,
            data: ["body": .string("new")]
        )
    }

    private func apply(
        _ server: ScriptedServer,
        _ entries: [UploadEntry] = [patch(1, "a")],
        options: UploadApplierOptions = UploadApplierOptions(),
        timing: UploadTiming = timing(),
        _ authorize: @escaping ServerUpload<ScriptedServer>.Authorization = { _, _ in .apply }
    ) async throws -> UploadResponse {
        let applier = ServerApplier(server, options, timing, authorize: authorize)
        return try await applier.apply(UploadRequest(clientID: "c", entries: entries), for: BackendUser(id: "u"))
    }

    // MARK: Attempts

    @Test(arguments: [1, 0.0]) func thePausesBetweenAttemptsGrowToASecond(random: Double) async throws {
        let server = ScriptedServer(["a": "old"])
        server.change { $0.failures = Array(repeating: ScriptedServer.Deadlock(), count: 10) }
        let pauses = NIOLockedValueBox<[Duration]>([])
        #expect(try await apply(server, timing: Self.timing(pauses, random: random)).appliedThrough == 1)
        let longest = [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000].map { Duration.milliseconds($0) }
        #expect(pauses.withLockedValue(\.self) == longest.map { random == 1 ? $0 : $0 / 2 })
        #expect(server.state.statements.count { $0 == "ROLLBACK" } == 10)
        #expect(server.state.rows == ["a": "new"])
    }

    @Test func anEleventhFailureIsAnError() async throws {
        let server = ScriptedServer()
        server.change { $0.failures = Array(repeating: ScriptedServer.Deadlock(), count: 11) }
        await #expect(throws: ScriptedServer.Deadlock.self) { try await apply(server) }
    }

    // MARK: Time

    @Test func aRequestThatTakesTooLongIsCancelledWithItsRule() async throws {
        let server = ScriptedServer(["a": "old"])
        var options = UploadApplierOptions()
        options.requestTimeLimit = .seconds(7)
        let isDeciding = AsyncStream<Void>.makeStream()
        let wasCancelled = NIOLockedValueBox(false)
        let timing = UploadTiming(sleep: { duration in
            #expect(duration == .seconds(7))
            for await _ in isDeciding.stream { break }
        })
        let error = await #expect(throws: UploadTimeLimitError.self) {
            try await apply(server, options: options, timing: timing) { _, _ in
                isDeciding.continuation.yield()
                do {
                    try await ContinuousClock().sleep(for: .seconds(3600))
                } catch {
                    wasCancelled.withLockedValue { $0 = true }
                    throw error
                }
                return .apply
            }
        }
        #expect(error?.limit == .seconds(7))
        #expect(wasCancelled.withLockedValue { $0 })
        #expect(server.state.rows == ["a": "old"] && server.state.statements.last == "ROLLBACK")
    }

    // MARK: Errors of the app's own

    @Test func theAppSaysWhatItsErrorsMean() async throws {
        var options = UploadApplierOptions()
        options.serverErrors = { error in
            switch error.sqlState {
            case "APP01": .reject("The list is archived.", code: .forbidden)
            case "APP02": .again
            case "APP03": .failure
            default: nil
            }
        }
        let server = ScriptedServer(["a": "old"])
        server.change { $0.writeFailure = ScriptedServer.Failure(state: "APP01") }
        let rejection = try await apply(server, options: options).rejections.first
        #expect(rejection?.code == .forbidden && rejection?.message == "The list is archived.")

        server.change { $0.writeFailure = ScriptedServer.Failure(state: "APP02") }
        let pauses = NIOLockedValueBox<[Duration]>([])
        await #expect(throws: ScriptedServer.Failure.self) {
            try await apply(server, options: options, timing: Self.timing(pauses))
        }
        #expect(pauses.withLockedValue(\.count) == 10)

        for state in ["APP03", "APP04"] {
            server.change { $0.writeFailure = ScriptedServer.Failure(state: state) }
            await #expect(throws: ScriptedServer.Failure.self) { try await apply(server, options: options) }
        }
        // A statement of the rule's own, even if the rule catches the error.
        server.change { $0.writeFailure = nil }
        let ofRule = try await apply(server, options: options) { _, statements in
            _ = try? await statements.run(changes: true) { () async throws -> Int in
                throw ScriptedServer.Failure(state: "APP01")
            }
            return .apply
        }
        #expect(ofRule.rejections.map(\.message) == ["The list is archived."])
        #expect(server.state.rows == ["a": "old"])
    }

    // MARK: Reading ahead

    /// Rows are looked for 1,000 at a time, without values; those are read where a rule asks, more at once when they are small.
    @Test func valuesAreReadOnlyWhereARuleAsks() async throws {
        let ids = (0..<2500).map { "n\(10_000 + $0)" }
        let entries = ids.enumerated().map { Self.patch($0.offset + 1, $0.element) }
        let server = ScriptedServer(Dictionary(uniqueKeysWithValues: ids.map { ($0, "old") }))
        #expect(try await apply(server, entries).appliedThrough == 2500)
        #expect(server.state.reads == [1000, 1000, 500].map { .init(count: $0, withValues: false) })
        #expect(server.state.rows.values.allSatisfy { $0 == "new" })

        server.change { $0.reads = [] }
        let response = try await apply(server, entries) { write, _ in
            try await write.storedRow()?["body"] == "new" ? .apply : .reject("It is another one.")
        }
        #expect(response.appliedThrough == 2500)
        #expect(
            server.state.reads == [
                .init(count: 1000, withValues: false), .init(count: 16, withValues: true),
                .init(count: 984, withValues: true), .init(count: 1000, withValues: false),
                .init(count: 1000, withValues: true), .init(count: 500, withValues: false),
                .init(count: 500, withValues: true),
            ]
        )
    }

    @Test func ofLargeRowsAFewAreReadAtOnce() async throws {
        let large = String(repeating: "x", count: 1 << 20)
        let ids = (0..<60).map { "n\(100 + $0)" }
        let server = ScriptedServer(Dictionary(uniqueKeysWithValues: ids.map { ($0, large) }))
        let entries = ids.enumerated().map { Self.patch($0.offset + 1, $0.element) }
        let response = try await apply(server, entries) { write, _ in
            try await write.storedRow()?["body"]?.utf8.count == large.utf8.count ? .apply : .reject("Another one.")
        }
        #expect(response.appliedThrough == 60)
        #expect(server.state.largestRead == 16 << 20)
        #expect(server.state.reads.dropFirst(2).allSatisfy { $0.withValues && $0.count <= 4 })
    }

    /// What the request has made of a row is seen, whenever it was looked for.
    @Test func aRowOfAnEarlierWindowIsSeenAsItIsNow() async throws {
        var entries = [Self.patch(1, "a"), Self.patch(2, "b")]
        for number in 3...1500 { entries.append(Self.patch(number, "n\(number)")) }
        entries.append(
            UploadEntry(operationID: 1501, op: .put, table: "notes", id: "b", data: ["body": .string("last")])
        )
        entries.append(Self.patch(1502, "a"))
        let server = ScriptedServer(["a": "old", "b": "old"])
        let seen = NIOLockedValueBox<[String]>([])
        let response = try await apply(server, entries) { write, _ in
            if ["a", "b"].contains(write.entry.id) {
                let body = try await write.storedRow()?["body"] ?? "nil"
                seen.withLockedValue { $0.append(write.entry.id + " " + body) }
            }
            return .apply
        }
        #expect(response.appliedThrough == 1502)
        #expect(seen.withLockedValue(\.self) == ["a old", "b old", "b new", "a new"])
        #expect(server.state.rows == ["a": "new", "b": "last"])
    }
}
