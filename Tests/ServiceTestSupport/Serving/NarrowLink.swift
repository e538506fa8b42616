package import NIOCore
package import PowerSyncProtocol
import PowerSyncServiceCore
package import PowerSyncTesting
import Testing

/// A link that carries so many bytes a second, and is cut when its time is over, also in the middle of a line.
///
/// Its time is that of a clock that stands still otherwise.
package struct NarrowLink {
    package let bytesPerSecond: Int
    package let lifetime: Duration
    package let clock = TestClock()

    /// Creates a link.
    package init(bytesPerSecond: Int, lifetime: Duration) {
        self.bytesPerSecond = bytesPerSecond
        self.lifetime = lifetime
    }

    /// The bytes that one connection carries.
    package var capacity: Int { Int(lifetime / .milliseconds(1) * Double(bytesPerSecond) / 1000) }

    /// A connection that begins now.
    package func connect() -> Connection { Connection(link: self, end: clock.now.advanced(by: lifetime)) }

    /// One connection.
    package struct Connection {
        package let link: NarrowLink
        package let end: TestClock.Instant

        /// Carries a line.
        ///
        /// - Returns: Whether its last byte has arrived before the end.
        package func carry(_ byteCount: Int) -> Bool {
            let microseconds = Int64(byteCount) * 1_000_000 / Int64(link.bytesPerSecond)
            link.clock.advance(by: .microseconds(microseconds))
            return link.clock.now <= end
        }
    }
}

/// A client that keeps what whole lines have brought, and asks for the rest when it connects again.
package struct LinkedClient {
    package let format: SyncLineFormat
    /// The op id after the last line of each bucket.
    package private(set) var positions: [BucketName: OpID] = [:]
    /// The data of the rows, by `bucket/id`.
    package private(set) var rows: [String: String] = [:]
    /// The checkpoint that is complete.
    package private(set) var completed: OpID?
    /// The operations that were kept.
    package private(set) var operationCount = 0

    package init(_ format: SyncLineFormat) {
        self.format = format
    }

    /// What a new connection asks for.
    package var request: StreamingSyncRequest {
        StreamingSyncRequest(buckets: positions.map { .init(name: $0.key, after: $0.value) })
    }

    /// Connects once, and reads until the link is cut or a checkpoint is complete.
    package mutating func connect(_ scenario: SessionScenario, over link: NarrowLink) async throws {
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
    package mutating func take(_ bytes: ByteBuffer) throws {
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
