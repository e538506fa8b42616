package import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// An operation with its texts.
package struct ReadOperation: Equatable, CustomStringConvertible {
    package var opID: OpID
    package var kind: String
    package var table: String
    package var id: String
    package var subkey: String
    package var data: String?
    package var checksum: Checksum

    package var description: String { "\(opID) \(kind) \(table)/\(id)/\(subkey) \(data ?? "")" }
}

/// The rows that are left when operations are applied in order, by `table/id/subkey`.
package func reduceByIdentity(_ operations: [ReadOperation]) -> [String: ReadOperation] {
    operations.reduce(into: [:]) { rows, operation in
        let identity = "\(operation.table)/\(operation.id)/\(operation.subkey)"
        switch operation.kind {
        case "PUT": rows[identity] = operation
        case "REMOVE": rows[identity] = nil
        case "CLEAR": rows = [:]
        default: break
        }
    }
}

/// The data of the rows that are left, by `table/id`.
package func reduce(_ operations: [ReadOperation]) -> [String: String] {
    reduceByIdentity(operations).values.reduce(into: [:]) { $0["\($1.table)/\($1.id)"] = $1.data }
}

/// Compiles a config that is known to be right.
package func plan(_ yaml: String) throws -> SyncPlan {
    let result = SyncConfig.parse(yaml)
    guard let plan = result.plan else { throw WrongConfig(diagnostics: "\(result.diagnostics)") }
    return plan
}

/// A config that was thought to be right.
private struct WrongConfig: Error {
    var diagnostics: String
}

extension BucketStorage {
    /// Reads a bucket to its end, as a session would.
    package func allOperations(
        _ bucket: String,
        of stream: ReplicationStream,
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits = BucketDataLimits()
    ) async throws -> [ReadOperation] {
        let name = BucketName(stream.bucketPrefix + bucket)
        var operations: [ReadOperation] = []
        var after = OpID.zero
        var hasMore = true
        while hasMore {
            let chunks = try await bucketData([.init(name: name, after: after)], at: checkpoint, limits: limits)
            for chunk in chunks {
                operations += chunk.line.operations.map { ReadOperation($0, in: chunk.line) }
                after = chunk.line.nextAfter ?? after
            }
            hasMore = chunks.last?.line.hasMore ?? false
        }
        return operations
    }
}

extension ReadOperation {
    /// Takes an operation out of its line.
    package init(_ operation: SyncOperation, in line: DataLine) {
        opID = operation.opID
        kind = "\(operation.kind)".uppercased()
        table = operation.objectType.map { line.string($0) } ?? ""
        id = operation.objectID.map { line.string($0) } ?? ""
        subkey = operation.subkey.map { line.string($0) } ?? ""
        data = operation.data.map { line.string($0) }
        checksum = operation.checksum
    }
}
