import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// A service that does everything wrong, once, and then behaves.
@Suite(.timeLimit(.minutes(2))) struct HostileServiceTests {
    /// The rows of the view, as JSON.
    private static let view = "SELECT id, json_object('name', name) FROM lists"
    /// The rows behind the view, which the service may have made something else than JSON.
    private static let table = "SELECT id, data FROM ps_data__lists"

    private func shownRows(_ harness: SyncHarness, _ sql: String) async throws -> [String: String] {
        let rows = try await harness.database.getAll(sql) { cursor in
            (try cursor.getString(index: 0), try cursor.getString(index: 1))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// What a client shows after each line that it can read, the first being what it shows before.
    private func expectedViews(
        _ body: ByteBuffer,
        _ format: SyncLineFormat = .ndjson,
        localRows: [String: String]
    ) -> [[String: String]] {
        var expected = ExpectedView(localRows: localRows.mapValues { #"{"name":"\#($0)"}"# })
        var views = [expected.rows]
        var reader = SyncLineReader(format: format)
        reader.append(body)
        // Nothing counts behind a line that cannot be read, although a reader could go on.
        do {
            while let line = try reader.next() {
                expected.receive(line.line)
                views.append(expected.rows)
            }
            if let line = try reader.finish() {
                expected.receive(line.line)
                views.append(expected.rows)
            }
        } catch {}
        return views
    }

    /// Sends a damaged stream to a new client, looks at what it shows, and then serves it well.
    ///
    /// `canConverge` says whether the damage cannot be mistaken for data; if it can, the client is cleared first.
    private func check(_ damage: Damage, localRows: [String: String], canConverge: Bool = true) async throws {
        try await HostileServiceTests.pool.withHarness { harness in
            try await check(damage, localRows: localRows, canConverge: canConverge, harness)
        }
    }

    private func check(
        _ damage: Damage,
        localRows: [String: String],
        canConverge: Bool,
        _ harness: SyncHarness
    ) async throws {
        let host = ModelHost(ModelTranscript.makeModel(), harness)
        for (id, name) in localRows.sorted(by: { $0.key < $1.key }) { try await harness.insert(id, name: name) }
        try await harness.clock.withoutDelays {
            try await harness.connect()
            let hostile = try await harness.service.nextStream()
            let body = damage.body
            hostile.accept(as: damage.format)
            hostile.send(bytes: body)
            hostile.end()
            // The client asks again when it is done with the stream.
            var next = try await harness.service.nextStream()
            let view = try await shownRows(harness, canConverge ? HostileServiceTests.view : HostileServiceTests.table)
            let expected = expectedViews(body, damage.format, localRows: localRows)
            if damage.isTimed {
                #expect(expected.contains(view))
            } else {
                #expect(view == expected.last)
            }
            if !canConverge {
                try await harness.database.disconnectAndClear()
                try await harness.connect()
                next = try await harness.service.nextStream()
            }
            try await host.converge(next)
        }
        #expect(try await harness.integer("SELECT count(*) FROM ps_crud") == 0)
        #expect(host.repeatedUploads.isEmpty)
        if canConverge { #expect(Set(localRows.keys).isSubset(of: host.model.uploads.map(\.row))) }
        #expect(harness.service.mostOpenStreams == 1)
    }

    private static let pool = HarnessPool()

    /// Rows that the service has, and one that it does not have.
    private static let localRows = ["s1": "local", "s2": "local", "s3": "local", "mine": "local"]

    /// The damages of a kind in both formats.
    private static func inBoth(_ damages: (SyncLineFormat) -> [Damage]) -> [Damage] {
        damages(.ndjson) + damages(.bson)
    }

    @Test(arguments: inBoth { Damage.ofLines(ModelTranscript.lines, $0) }.one(in: 3))
    func damagedLines(_ damage: Damage) async throws {
        try await check(damage, localRows: [:])
    }

    @Test(
        arguments: Damage.ofLines(ModelTranscript.lines, .ndjson).one(in: 3)
    )
    func damagedLinesToAClientWithLocalWrites(_ damage: Damage) async throws {
        try await check(damage, localRows: HostileServiceTests.localRows)
    }

    @Test(arguments: inBoth { Damage.insideLines(ModelTranscript.lines, $0, seed: 1) }.one(in: 2))
    func halfALine(_ damage: Damage) async throws {
        try await check(damage, localRows: [:])
    }

    @Test(arguments: inBoth { Damage.ofValues(ModelTranscript.lines, $0) }.one(in: 3))
    func wrongValues(_ damage: Damage) async throws {
        if damage.format == .ndjson { try await check(damage, localRows: HostileServiceTests.localRows) }
        try await check(damage, localRows: [:])
    }

    @Test(arguments: inBoth { Damage.ofStrangeLines(ModelTranscript.lines, $0) }.one(in: 2))
    func strangeLines(_ damage: Damage) async throws {
        try await check(damage, localRows: [:])
    }

    @Test(
        arguments: inBoth { Damage.ofBytes(ModelTranscript.lines, $0, count: 100, seed: 2) }.one(in: 4)
    )
    func randomBytes(_ damage: Damage) async throws {
        try await check(damage, localRows: [:], canConverge: false)
    }

    @Test(arguments: ModelTranscript.lines.indices) func nothingAnyMoreAfterEachLine(
        after index: Int
    ) async throws {
        let harness = SyncHarness()
        let host = ModelHost(ModelTranscript.makeModel(), harness)
        let hostile = try await harness.connectAndAccept()
        let body = ByteBuffer(string: ModelTranscript.lines[...index].map { $0 + "\n" }.joined())
        hostile.send(bytes: body)
        hostile.send(bytes: ByteBuffer(string: #"{"checkpoint_comp"#))
        try await hostile.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(40))
        harness.clock.advance(by: .seconds(40))
        try await harness.wait { ($0.lastDownloadError as? SyncTransportError)?.code == .idle }
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(
            try await shownRows(harness, HostileServiceTests.view) == expectedViews(body, localRows: [:]).last
        )
        try await harness.clock.withoutDelays {
            try await host.converge(try await harness.service.nextStream())
        }
        try await harness.database.close()
    }

    @Test func oneByteAfterTheOther() async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept()
        for line in ModelTranscript.lines {
            for byte in (line + "\n").utf8 { stream.send(bytes: ByteBuffer(integer: byte)) }
        }
        try await stream.waitUntilRead()
        stream.end()
        try await harness.wait { !$0.connected }
        #expect(try await harness.lists() == ModelTranscript.makeModel().rows)
        try await harness.database.close()
    }

    @Test(arguments: [400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504], ["", "{}", "<html>"])
    func errorsInstead(_ status: Int, body: String) async throws {
        let harness = SyncHarness()
        let host = ModelHost(ModelTranscript.makeModel(), harness)
        try await harness.insert("mine")
        try await harness.clock.withoutDelays {
            try await harness.connect()
            for _ in 0..<3 {
                try await harness.service.nextStream().reject(status: status, body: body)
            }
            let next = try await harness.service.nextStream()
            #expect(next.token == (status == 401 ? "token 4" : "token 1"))
            #expect((harness.database.currentStatus.downloadError as? SyncTransportError)?.httpStatus == status)
            #expect(try await harness.lists() == ["mine": "local"])
            try await host.converge(next)
            try await harness.wait { $0.lastDownloadError == nil }
        }
        #expect(harness.connector.uploads == 1)
        #expect(host.repeatedUploads.isEmpty)
        try await harness.database.close()
    }
}
