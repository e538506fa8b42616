package import Logging
package import NIOCore
import PowerSyncAuth
package import PowerSyncProtocol
package import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

/// Sessions over a real storage with its dispatcher, without HTTP.
package struct SessionScenario {
    package var storage: StorageScenario
    package let environment: SyncSession.Environment
    /// Whether lines are copied before they are written.
    package var copiesLines = false
    /// Gets the lines of sessions.
    package var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    /// The seconds since 1970 for the statistics of sessions.
    package var now: @Sendable () -> Double = { Timing().seconds }

    package var dispatcher: CheckpointDispatcher { environment.dispatcher }

    /// Runs the dispatcher for as long as `body` runs.
    ///
    /// - Parameters:
    ///   - config: The sync config.
    ///   - kind: The storage.
    ///   - view: What sessions read, if that is not the storage itself.
    ///   - followed: What the dispatcher reads, if that is not the storage itself.
    ///   - dataReaders: Who may read bucket data.
    ///   - memory: Limits the lines in memory.
    ///   - clock: Measures the pauses of the dispatcher.
    ///   - body: Uses the scenario.
    /// - Throws: What `body` throws.
    package static func run(
        _ config: String,
        on kind: TestedStorage = .sqlite,
        view: (any BucketStorage) -> any BucketStorage = { $0 },
        followed: (any BucketStorage) -> any BucketStorage = { $0 },
        dataReaders: ConcurrencyQueue = ConcurrencyQueue(maximumRunning: 10, maximumWaiting: .max),
        memory: LineMemory = LineMemory(),
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: (inout SessionScenario) async throws -> Void
    ) async throws {
        try await run(
            over: StorageScenario(config, on: kind),
            view: view,
            followed: followed,
            dataReaders: dataReaders,
            memory: memory,
            clock: clock,
            body
        )
    }

    /// Does the same over a storage that there is.
    package static func run(
        over storage: StorageScenario,
        view: (any BucketStorage) -> any BucketStorage = { $0 },
        followed: (any BucketStorage) -> any BucketStorage = { $0 },
        dataReaders: ConcurrencyQueue = ConcurrencyQueue(maximumRunning: 10, maximumWaiting: .max),
        memory: LineMemory = LineMemory(),
        clock: any Clock<Duration> = ContinuousClock(),
        _ body: (inout SessionScenario) async throws -> Void
    ) async throws {
        let environment = SyncSession.Environment(
            storage: view(storage.storage),
            dispatcher: CheckpointDispatcher(storage: followed(storage.storage), memory: memory, clock: clock),
            dataReaders: dataReaders,
            limits: BucketLimits(),
            timing: Timing()
        )
        var scenario = SessionScenario(storage: storage, environment: environment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await environment.dispatcher.run() }
            try await body(&scenario)
            group.cancelAll()
        }
    }

    /// A session that is not open yet.
    ///
    /// - Parameters:
    ///   - userID: Whose it is.
    ///   - claims: The others of the token.
    ///   - request: What it asks for.
    ///   - format: How its lines are encoded.
    /// - Returns: The session.
    /// - Throws: When no stream is active.
    package func session(
        _ userID: String = "u1",
        claims: JSONObject = [:],
        request: StreamingSyncRequest = StreamingSyncRequest(),
        format: SyncLineFormat = .ndjson
    ) async throws -> SyncSession {
        var payload = claims
        payload["sub"] = .string(userID)
        return SyncSession(
            request: request,
            token: VerifiedToken(payload: payload, expiresAt: 0),
            stream: try #require(try await storage.storage.activeStream()),
            environment: environment,
            encoding: SyncSession.Encoding(format: format, isRawData: true),
            copiesLines: copiesLines,
            statistics: ClientStreamStatistics(now: now),
            logger: logger
        )
    }

    /// Opens a session and runs it.
    package func client(
        _ userID: String = "u1",
        clientID: String? = nil,
        claims: JSONObject = [:],
        parameters: JSONObject = [:]
    ) async throws -> SessionClient {
        var request = StreamingSyncRequest()
        request.clientID = clientID
        request.parameters = parameters
        var session = try await session(userID, claims: claims, request: request)
        let first = try #require(try await session.open())
        return try SessionClient(userID, first, session)
    }

    /// Inserts a row.
    package mutating func insert(
        _ id: String,
        _ columns: KeyValuePairs<String, String> = [:],
        into table: SourceTable
    ) async throws {
        var row = SourceRow(columns: [.init(name: "id", value: .text(id))])
        for (name, value) in columns { row.columns.append(.init(name: name, value: .text(value))) }
        try await storage.save(.update(row), of: table)
    }
}

/// A client of a session, which adds up what it gets: a completion that comes too early fails the test.
package struct SessionClient: ~Copyable {
    /// What was said of a bucket.
    private struct Announcement {
        var checksum: Checksum
        var priority: Priority
    }

    package let userID: String
    private let lines = LineQueue()
    private let task: Task<Void, Never>
    /// Lines that were taken and not looked at.
    private var pending: [ByteBuffer]
    /// How many batches were taken.
    package private(set) var batchCount = 0

    /// The buckets that were announced.
    private var announced: [String: Announcement] = [:]
    /// The sums of the checksums of the operations.
    private var received: [String: Checksum] = [:]
    /// The positions after the last line of each bucket.
    private var positions: [String: String] = [:]
    private var writeCheckpoint: String?
    private var isComplete = false
    /// The data of the rows of each bucket, by `table/id/subkey`.
    package private(set) var rows: [String: [String: String]] = [:]

    package init(_ userID: String, _ first: ByteBuffer, _ session: consuming SyncSession) throws {
        self.userID = userID
        pending = [first]
        session.account.whenStalled { [weak lines] in lines?.finish(.unread) }
        task = Task { [lines, session] in
            var session = session
            await lines.finish(afterRunning: { try await session.run(lines) })
        }
    }

    deinit { task.cancel() }

    /// Ends the session, and waits for its end.
    package consuming func leave() async {
        task.cancel()
        await task.value
        lines.finish(.clientClosed)
        // What was taken last is not in memory any more.
        _ = try? await lines.next()
    }

    /// The next line; `nil` when the session has ended.
    package mutating func next() async throws -> JSONObject? {
        if pending.isEmpty {
            guard let batch = try await lines.next() else { return nil }
            batchCount += 1
            pending = batch
        }
        let line = try JSONObject(parsing: pending.removeFirst())
        take(line)
        return line
    }

    /// The next line in short form.
    package mutating func summary() async throws -> String? { try await next()?.summary }

    /// The lines up to a `complete`, in short form.
    package mutating func untilComplete() async throws -> [String] {
        var summaries: [String] = []
        while let summary = try await summary() {
            summaries.append(summary)
            if summary.hasPrefix("complete") { break }
        }
        return summaries
    }

    /// Reads until the client has everything that was committed with a write checkpoint.
    package mutating func read(until number: WriteCheckpoint) async throws {
        while !isComplete || writeCheckpoint != number.description {
            _ = try #require(try await next(), "the session has ended")
        }
    }

    /// Reads until the client has all operations of some buckets, and no other bucket.
    package mutating func read(
        until expected: [BucketName: BucketChecksum],
        writeCheckpoint expectedNumber: WriteCheckpoint? = nil
    ) async throws {
        let sums = Dictionary(uniqueKeysWithValues: expected.map { ($0.rawValue, $1.checksum) })
        while !isComplete
            || received.filter({ announced[$0.key] != nil && $0.value != .zero })
                != sums.filter({ $0.value != .zero })
            || Set(announced.keys) != Set(sums.keys)
            || writeCheckpoint != expectedNumber?.description
        {
            _ = try #require(try await next(), "the session has ended")
        }
    }

    private mutating func take(_ line: JSONObject) {
        for kind in ["checkpoint", "checkpoint_diff"] where line[kind] != nil {
            isComplete = false
            let content = line.object(kind)
            for bucket in content.objects("buckets") + content.objects("updated_buckets") {
                let checksum = bucket.text("checksum").flatMap { Int64($0) } ?? 0
                let priority = bucket.text("priority").flatMap { Int32($0) } ?? 0
                announced[bucket.text("bucket") ?? ""] = Announcement(
                    checksum: Checksum(truncating: checksum),
                    priority: Priority(priority)
                )
            }
            if case .array(let removed) = content["removed_buckets"] {
                for case .string(let bucket) in removed {
                    (announced[bucket], received[bucket], positions[bucket], rows[bucket]) = (nil, nil, nil, nil)
                }
            }
            if let number = content.text("write_checkpoint") { writeCheckpoint = number }
        }
        if line["data"] != nil { takeOperations(line.object("data")) }
        if line["partial_checkpoint_complete"] != nil {
            let priority = line.object("partial_checkpoint_complete").text("priority").flatMap { Int32($0) } ?? 0
            expectEverything(upTo: Priority(priority))
        }
        if line["checkpoint_complete"] != nil {
            expectEverything(upTo: .complete)
            isComplete = true
        }
    }

    /// Expects that all operations of the buckets that a completion covers are there.
    private func expectEverything(upTo priority: Priority) {
        for (bucket, announcement) in announced where priority.includes(announcement.priority) {
            let sum = received[bucket, default: .zero]
            #expect(sum == announcement.checksum, "bucket \(bucket)")
        }
    }

    /// Adds up the operations of a line, which begins where the one before has ended.
    private mutating func takeOperations(_ data: JSONObject) {
        let bucket = data.text("bucket") ?? ""
        #expect(data.text("after") == positions[bucket] ?? "0", "bucket \(bucket)")
        positions[bucket] = data.text("next_after")
        var last = data.text("after").flatMap { Int64($0) } ?? 0
        for operation in data.objects("data") {
            let opID = operation.text("op_id").flatMap { Int64($0) } ?? 0
            #expect(opID > last, "bucket \(bucket)")
            last = opID
            let checksum = Checksum(truncating: operation.text("checksum").flatMap { Int64($0) } ?? 0)
            let identity = ["object_type", "object_id", "subkey"].map { operation.text($0) ?? "" }
                .joined(separator: "/")
            switch operation.text("op") {
            case "PUT": rows[bucket, default: [:]][identity] = operation.text("data")
            case "REMOVE": rows[bucket]?[identity] = nil
            case "CLEAR": (rows[bucket], received[bucket]) = (nil, .zero)
            default: break
            }
            received[bucket, default: .zero] += checksum
        }
        #expect(positions[bucket] == "\(last)", "bucket \(bucket)")
    }
}
