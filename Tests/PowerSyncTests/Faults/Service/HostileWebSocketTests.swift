import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import RSocket
import TestSupport
import Testing

@testable import PowerSyncClient

/// A service that does everything wrong over WebSocket, and then behaves; over real connections.
@Suite(.timeLimit(.minutes(2))) struct HostileWebSocketTests {
    /// What a connection does after the request; the connection is closed afterwards.
    fileprivate typealias Script = @Sendable (inout RSocketPeer) async throws -> Void

    /// The documents of a whole transcript.
    private static let documents = documents(of: .bson)

    private static func documents(of format: SyncLineFormat) -> [ByteBuffer] {
        ModelTranscript.lines.map { ByteBuffer(lines: [$0], format) }
    }

    /// Runs a client until it shows what the service has.
    ///
    /// The first connections are `hostile`, in order; those after them behave. `check` is called at the end.
    private func run(
        _ hostile: [Script],
        _ check: (_ errors: [String], _ database: SyncedDatabase) async throws -> Void = { _, _ in }
    ) async throws {
        let connections = NIOLockedValueBox(0)
        try await RSocketPeer.serve { peer in
            guard case .setup = try await peer.next(), case .requestStream(let request) = try await peer.next() else {
                return
            }
            let number = connections.withLockedValue { count in
                defer { count += 1 }
                return count
            }
            // A connection that the client has closed is no failure of the service.
            try? await (number < hostile.count ? hostile[number] : Self.behave(request.initialRequestN))(&peer)
        } _: { port in
            let (clock, log, connector) = (TestClock(), RecordingLogger(), ScriptedConnector())
            connector.onFetch { _ in PowerSyncCredentials(endpoint: "http://127.0.0.1:\(port)", token: "token") }
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: log,
                environment: SyncEnvironment(transport: WebSocketTransport.shared, clock: clock)
            )
            try await clock.withoutDelays {
                try await database.connect(connector: connector, options: ConnectOptions())
                let views = try database.watch("SELECT id, name FROM lists") { cursor in
                    (try cursor.getString(index: 0), try cursor.getString(index: 1))
                }
                for try await view in views
                where connections.withLockedValue({ $0 }) > hostile.count
                    && Dictionary(uniqueKeysWithValues: view) == ModelTranscript.makeModel().rows
                { break }
            }
            try await check(log.messages(.error), database)
            try await database.close()
        }
    }

    /// Sends the transcript as credit allows, and keeps the connection.
    private static func behave(_ initialRequestN: RequestN) -> Script {
        { peer in
            var credit = Int(initialRequestN.rawValue)
            for document in documents {
                while credit == 0 {
                    guard let frame = try await peer.next() else { return }
                    if case .requestN(_, let count) = frame { credit += Int(count.rawValue) }
                }
                credit -= 1
                try await peer.send(.document(document))
            }
            while try await peer.next() != nil {}
        }
    }

    /// The first lines, which fit into the first credit.
    private static func lines(_ count: Int, then end: @escaping Script) -> Script {
        { peer in
            for document in documents.prefix(count) { try await peer.send(.document(document)) }
            try await end(&peer)
        }
    }

    /// Something wrong, and whether the client says so; the end of a connection is none.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        fileprivate let script: Script
        var isError = true

        fileprivate init(_ testDescription: String, isError: Bool = true, _ script: @escaping Script) {
            self.testDescription = testDescription
            self.script = script
            self.isError = isError
        }

        /// A message instead of the frame with a line.
        fileprivate static func message(_ description: String, _ bytes: [UInt8]) -> Fault {
            Fault(description) { peer in
                try await peer.send(message: ByteBuffer(bytes: bytes))
                while try await peer.next() != nil {}
            }
        }

        /// The payload of a line.
        fileprivate static func document(_ description: String, _ document: ByteBuffer) -> Fault {
            Fault(description) { peer in
                try await peer.send(.document(document))
                while try await peer.next() != nil {}
            }
        }
    }

    private static let faults: [Fault] = [
        .message("an empty message", []),
        .message("half a frame header", [0, 0, 0]),
        .message("a frame of an unknown type", [0, 0, 0, 1, 0xfc, 0]),
        .message("a PAYLOAD on a stream that nobody opened", [0, 0, 0, 9, 0x28, 0x60]),
        .message("metadata that is longer than the frame", [0, 0, 0, 1, 0x29, 0x60, 0xff, 0xff, 0xff]),
        .message("a REQUEST_N of the service", [0, 0, 0, 1, 0x20, 0, 0, 0, 0, 1]),
        .message("a SETUP of the service", [0, 0, 0, 0, 0x04, 0, 0, 1, 0, 0, 0, 0, 0x4e, 0x20, 0, 1, 0x5f, 0x90]),
        .document("a line of no bytes", ByteBuffer()),
        .document("JSON", ByteBuffer(string: #"{"token_expires_in":60}"#)),
        .document("a document that announces 2 GiB", ByteBuffer(bytes: [0xff, 0xff, 0xff, 0x7f, 3, 0x61, 0])),
        .document("a document and a byte", ByteBuffer(bytes: Array(documents[0].readableBytesView) + [0])),
        .document("two documents at once", ByteBuffer(bytes: documents.prefix(2).flatMap(\.readableBytesView))),
        Fault("more lines than were asked for") { peer in
            let line = Frame.document(ByteBuffer(lines: [#"{"future":1}"#], .bson))
            try await peer.send(Array(repeating: line, count: 40))
            while try await peer.next() != nil {}
        },
        Fault("an ERROR for the stream") { peer in
            let error = ErrorFrame(streamID: .first, code: .applicationError, message: "[PSYNC_S2302] No sync config")
            try await peer.send(.error(error))
            while try await peer.next() != nil {}
        },
        Fault("an ERROR for the connection") { peer in
            try await peer.send(.error(ErrorFrame(streamID: .connection, code: .connectionError, message: "bye")))
        },
        Fault("nothing", isError: true) { _ in },
        Fault("the end at once", isError: true) { peer in try await peer.send(.payload(.complete(.first))) },
        Fault("the end after a line", isError: false) { peer in
            try await peer.send(.document(documents[0]), .payload(.complete(.first)))
        },
        Fault("an empty message under a mask, after a line") { peer in
            try await peer.send(.document(documents[0]))
            try await peer.send(raw: ByteBuffer(bytes: [0x82, 0x80, 1, 2, 3, 4]))
            while try await peer.next() != nil {}
        },
        Fault("a message that announces 2^62 bytes") { peer in
            try await peer.send(.document(documents[0]))
            try await peer.send(raw: ByteBuffer(bytes: [0x82, 0x7f, 0x40, 0, 0, 0, 0, 0, 0, 0]))
            while try await peer.next() != nil {}
        },
        Fault("a continuation of nothing") { peer in
            try await peer.send(.document(documents[0]))
            try await peer.send(raw: ByteBuffer(bytes: [0x80, 1, 0]))
            while try await peer.next() != nil {}
        },
    ]

    @Test(arguments: faults) func whatIsWrongTwice(_ fault: Fault) async throws {
        try await run([fault.script, fault.script]) { errors, _ in
            #expect(errors.count == (fault.isError ? 2 : 0), "\(errors)")
        }
    }

    @Test(arguments: 0..<10) func linesAndThenHalfALine(after index: Int) async throws {
        let script = Self.lines(index) { peer in
            let document = Self.documents[index]
            let length = (index * 4 + 1) * document.readableBytes / 40
            try await peer.send(.document(document.getSlice(at: 0, length: length) ?? ByteBuffer()))
            while try await peer.next() != nil {}
        }
        try await run([script]) { errors, _ in
            #expect(errors.count == 1)
            #expect(errors.allSatisfy { $0.contains("malformed line") }, "\(errors)")
        }
    }

    @Test func nothingAnyMoreTheSocketClosedAfterAnyNumberOfLines() async throws {
        let scripts = (1...10).map { count in Self.lines(count) { try await $0.closeAbruptly() } }
        try await run(scripts) { errors, _ in
            // Between two lines that is the end of a stream like any other.
            #expect(errors.allSatisfy { !$0.contains("malformed") }, "\(errors)")
        }
    }

    @Test func halfAFrameTheSocketClosedWithinIt() async throws {
        let frame = try Frame.document(Self.documents[1]).encoded()
        let length = frame.readableBytes
        let header: [UInt8] = [0x82, 126, UInt8(length >> 8), UInt8(length & 0xff)]
        let bytes = ByteBuffer(bytes: header + Array(frame.readableBytesView))
        #expect(length > 125)
        let ends = [1, 2, 3, 4, 5, 9, 10, 11, 40, bytes.readableBytes - 1]
        let scripts = ends.map { end in
            Self.lines(1) { peer in
                try await peer.send(raw: bytes.getSlice(at: 0, length: end) ?? ByteBuffer())
                try await peer.closeAbruptly()
            }
        }
        try await run(scripts)
    }

    @Test(
        arguments: [[], [1000], [1001], [1002], [1003], [1007], [1008], [1009], [1011], [1012], [1013], [4000]]
            as [[UInt16]]
    )
    func closeFrame(_ codes: [UInt16]) async throws {
        let payload = codes.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        let close = ByteBuffer(bytes: [0x88, UInt8(payload.count)] + payload)
        let script = Self.lines(2) { peer in
            try await peer.send(raw: close)
            while try await peer.next() != nil {}
        }
        try await run([script, script]) { errors, _ in
            #expect(errors.isEmpty)
        }
    }

    @Test func bucketsOfANewSyncConfigOnTheSameConnection() async throws {
        let (first, second, done) = ("2#old[]", "3#new[]", SyncLine.done)
        let lines: [SyncLine] = [
            .checkpoint(2, [.bucket(first, count: 2)]),
            .row(first, 1, "lists", "both", #"{"name":"old"}"#), .row(first, 2, "lists", "gone", #"{"name":"old"}"#),
            done,
            .checkpoint(4, [.bucket(second, count: 2)]),
            .row(second, 3, "lists", "both", #"{"name":"new"}"#), .row(second, 4, "lists", "added", #"{"name":"new"}"#),
            done,
        ]
        let views = Shared<[[String: String]]>([])
        try await RSocketPeer.serve { peer in
            guard case .setup = try await peer.next(), case .requestStream = try await peer.next() else { return }
            for line in lines {
                var document = ByteBuffer()
                line.encode(as: .bson, into: &document)
                try await peer.send(.document(document))
            }
            while try await peer.next() != nil {}
        } _: { port in
            let connector = ScriptedConnector()
            connector.onFetch { _ in PowerSyncCredentials(endpoint: "http://127.0.0.1:\(port)", token: "token") }
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: RecordingLogger(),
                environment: SyncEnvironment(transport: WebSocketTransport.shared)
            )
            try await database.connect(connector: connector, options: ConnectOptions())
            let changes = try database.watch("SELECT id, name FROM lists") { cursor in
                (try cursor.getString(index: 0), try cursor.getString(index: 1))
            }
            for try await rows in changes {
                views.value.append(Dictionary(uniqueKeysWithValues: rows))
                if views.value.last == ["both": "new", "added": "new"] { break }
            }
            let old = ["both": "old", "gone": "old"]
            // Never something in between: a checkpoint is shown as a whole.
            #expect(views.value.dropLast().allSatisfy { $0.isEmpty || $0 == old }, "\(views.value)")
            #expect(try await database.get("SELECT count(*) FROM ps_buckets") { try $0.getInt(index: 0) } == 1)
            try await database.close()
        }
    }

    @Test func nothingClosingTheSocket200TimesAndLeavesNothingBehind() async throws {
        let served = NIOLockedValueBox(0)
        try await RSocketPeer.serve { peer in
            guard case .setup = try await peer.next(), case .requestStream = try await peer.next() else { return }
            let number = served.withLockedValue { count in
                defer { count += 1 }
                return count
            }
            if number.isMultiple(of: 2) { try await peer.send(.document(Self.documents[0])) }
            try await peer.closeAbruptly()
        } _: { port in
            let credentials = ServiceCredentials(endpoint: try ServiceEndpoint("http://127.0.0.1:\(port)"), token: "t")
            func attempt() async {
                do {
                    let stream = try await WebSocketTransport.shared.openStream(
                        StreamingSyncRequest(),
                        credentials: credentials,
                        log: .disabled
                    )
                    while try await stream.next() != nil {}
                } catch {
                    // Some close before the first line.
                }
            }
            for _ in 0..<20 { await attempt() }
            let before = try OpenFiles.count()
            for _ in 0..<200 { await attempt() }
            // The last sockets may be on their way out.
            #expect(try OpenFiles.count() < before + 20)
        }
        #expect(served.withLockedValue { $0 } == 220)
    }
}

/// The files and sockets of this process.
private enum OpenFiles {
    static func count() throws -> Int {
        #if os(Linux)
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        #else
        try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count
        #endif
    }
}

extension Frame {
    /// A document on the first stream.
    fileprivate static func document(_ document: ByteBuffer) -> Frame {
        .payload(.next(Payload(data: document), on: .first))
    }
}
