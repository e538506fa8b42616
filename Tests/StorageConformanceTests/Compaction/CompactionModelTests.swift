import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Random changes, random sealing and random compactions between random downloads: whoever completes a checkpoint has its rows, and its
/// checksum.
@Suite(.timeLimit(.minutes(2))) struct CompactionModelTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// A client of one bucket, which follows the rules of the protocol.
    private struct Client {
        var position = OpID.zero
        var rows: [String: ReadOperation] = [:]
        var checksum = Checksum.zero
        var checkpoint: StorageCheckpoint?
        var isInvalidated = false

        mutating func apply(_ operation: ReadOperation) {
            let identity = "\(operation.table)/\(operation.id)/\(operation.subkey)"
            switch operation.kind {
            case "PUT": rows[identity] = operation
            case "REMOVE": rows[identity] = nil
            case "CLEAR":
                rows = [:]
                checksum = .zero
            default: break
            }
            checksum += operation.checksum
            position = operation.opID
        }
    }

    @Test(arguments: TestedStorage.durable, (1...12 as ClosedRange<UInt64>).one(in: 3))
    func downloadsThatCompleteAreRight(_ kind: TestedStorage, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var limits = SealingLimits()
        limits.minimum = 1 + Int(seed % 4)
        limits.segmentBytes = 100 * Int(seed % 5)
        limits.unswept = 10 * Int(seed % 3)
        var scenario = try await StorageScenario(Self.config, on: kind, sealing: limits)
        let table = try await scenario.table("test")
        var source: [String: Int64] = [:]
        /// The rows at each checkpoint.
        var history: [OpID: [String: Int64]] = [try scenario.checkpoint.opID: [:]]
        var clients = (0..<4).map { _ in Client() }
        var completed = 0
        for _ in 0..<300 {
            switch random.number(below: 9) {
            case 0...2:
                let id = "r\(random.number(below: 5))"
                if source[id] != nil, random.number(below: 3) == 0 {
                    source[id] = nil
                    try await scenario.save(.delete(key: [.text(id)]), of: table)
                } else {
                    let value = Int64(random.number(below: 1000))
                    source[id] = value
                    try await scenario.save(.update(["id": .text(id), "v": .integer(value)]), of: table)
                }
            case 3:
                history[try await scenario.commit().opID] = source
            case 4:
                _ = try await scenario.storage.compact()
            case 5:
                try await scenario.storage.seal()
            default:
                let index = random.number(below: clients.count)
                try await step(&clients[index], scenario, limit: 1 + random.number(below: 4)) { client in
                    completed += 1
                    let expected = history[client.checkpoint?.opID ?? .zero]?.map { "\($0.key)=\($0.value)" }
                    let found = client.rows.values.map { "\($0.id)=\(Self.value($0))" }
                    #expect(Set(found) == expected.map { Set($0) }, "seed \(seed)")
                }
            }
        }
        #expect(completed > 0, "seed \(seed)")
    }

    private static func value(_ operation: ReadOperation) -> String {
        guard let data = operation.data, let object = try? JSONObject(parsing: data) else { return "?" }
        return object["v"]?.text ?? "?"
    }

    /// Lets a client begin the newest checkpoint, or download a bit of the one it has begun.
    private func step(
        _ client: inout Client,
        _ scenario: StorageScenario,
        limit: Int,
        _ didComplete: (Client) -> Void
    ) async throws {
        guard let checkpoint = client.checkpoint else {
            client.checkpoint = try scenario.checkpoint
            client.isInvalidated = false
            return
        }
        let name = BucketName(scenario.stream.bucketPrefix + "g|0[]")
        var limits = BucketDataLimits()
        limits.operations = limit
        do {
            let chunks = try await scenario.storage.bucketData(
                [.init(name: name, after: client.position)],
                at: checkpoint,
                limits: limits
            )
            for chunk in chunks {
                for operation in chunk.line.operations { client.apply(ReadOperation(operation, in: chunk.line)) }
                if let target = chunk.targetOp, target > checkpoint.opID { client.isInvalidated = true }
            }
            if chunks.last?.line.hasMore ?? false { return }
            let sum = try await scenario.storage.checksums([name], at: checkpoint)[name] ?? .empty
            if !client.isInvalidated {
                #expect(client.checksum == sum.checksum)
                didComplete(client)
            }
        } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
            // The next checkpoint is complete.
        }
        client.checkpoint = nil
    }
}
