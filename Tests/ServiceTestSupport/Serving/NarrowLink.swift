import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

/// A link that carries so many bytes a second, and is cut when its time is over, also in the middle of a line.
///
/// Its time is that of a clock that stands still otherwise.
struct NarrowLink {
    let bytesPerSecond: Int
    let lifetime: Duration
    let clock = TestClock()

    /// The bytes that one connection carries.
    var capacity: Int { Int(lifetime / .milliseconds(1) * Double(bytesPerSecond) / 1000) }

    /// A connection that begins now.
    func connect() -> Connection { Connection(link: self, end: clock.now.advanced(by: lifetime)) }

    /// One connection.
    struct Connection {
        let link: NarrowLink
        let end: TestClock.Instant

        /// Carries a line.
        ///
        /// - Returns: Whether its last byte has arrived before the end.
        func carry(_ byteCount: Int) -> Bool {
            let microseconds = Int64(byteCount) * 1_000_000 / Int64(link.bytesPerSecond)
            link.clock.advance(by: .microseconds(microseconds))
            return link.clock.now <= end
        }
    }
}

/// A client that keeps what whole lines have brought, and asks for the rest when it connects again.
struct LinkedClient {
    let format: SyncLineFormat
    /// The op id after the last line of each bucket.
    private(set) var positions: [BucketName: OpID] = [:]
    /// The data of the rows, by `bucket/id`.
    private(set) var rows: [String: String] = [:]
    /// The checkpoint that is complete.
    private(set) var completed: OpID?
    /// The operations that were kept.
    private(set) var operationCount = 0

    init(_ format: SyncLineFormat) {
        self.format = format
    }

    /// What a new connection asks for.
    var request: StreamingSyncRequest {
        StreamingSyncRequest(buckets: positions.map { .init(name: $0.key, after: $0.value) })
    }

    /// Connects once, and reads until the link is cut or a checkpoint is complete.
    mutating func connect(_ scenario: SessionScenario, over link: NarrowLink) async throws {
        completed = nil
        let connection = link.connect()
        var session = try await scenario.session(request: request, format: format)
        let first = try #require(try await session.open())
        let lines = LineQueue()
        let task = Task { [session] in
            var session = session
            await lines.finish(afterRunning: { try await session.run(lines) })
        }
        var batch: [ByteBuffer]? = [first]
        reading: while let arriving = batch {
            for line in arriving {
                guard connection.carry(line.readableBytes) else { break reading }
                try take(line)
                if completed != nil { break reading }
            }
            batch = try await lines.next()
        }
        task.cancel()
        await task.value
    }

    /// Keeps a line.
    mutating func take(_ bytes: ByteBuffer) throws {
        let line = try format == .bson ? SyncLine(bson: bytes) : SyncLine(json: bytes)
        switch line {
        case .checkpoint(let checkpoint):
            let names = Set(checkpoint.buckets.map(\.name))
            positions = positions.filter { names.contains($0.key) }
        case .data(let data):
            #expect(data.after == positions[data.bucket] ?? .zero)
            for operation in data.operations {
                let id = "\(data.bucket)/\(operation.objectID.map { data.string($0) } ?? "")"
                rows[id] = operation.kind == .put ? operation.data.map { data.string($0) } : nil
            }
            positions[data.bucket] = data.nextAfter
            operationCount += data.operations.count
        case .checkpointComplete(let completion): completed = completion.lastOpID
        default: break
        }
    }
}
