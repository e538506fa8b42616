import PowerSyncProtocol
import PowerSyncServiceCore

/// Reads operations into chunks (docs/service.md "Reading buckets").
struct PostgresBucketReading: Sendable {
    /// What to read, in the order of the names.
    let positions: [StreamingSyncRequest.BucketPosition]
    /// Up to where.
    let checkpoint: StorageCheckpoint
    /// How much.
    let limits: BucketDataLimits

    /// What reading has led to.
    enum Outcome {
        /// Everything was read.
        case chunks([BucketChunk])
        /// Operations have names with these numbers, which are not known.
        case missing(Set<Int64>)
    }

    /// Reads.
    ///
    /// - Parameters:
    ///   - db: Runs the query.
    ///   - names: What the numbers of tables stand for.
    ///   - last: A statement that runs after the query.
    /// - Returns: The chunks, or which names are missing.
    /// - Throws: ``PostgresError``.
    func read(
        _ db: PostgresStatements,
        names: [Int64: [UInt8]],
        then last: PostgresStatements.Statement
    ) throws -> Outcome {
        var chunks = BucketChunkBuilder(limits: limits)
        /// The bucket whose operations come, from 1.
        var place = 0
        var isFull = false
        var missing: Set<Int64> = []
        // A chunk that is begun is filled.
        let byteLimit = limits.totalBytes + limits.chunkBytes
        var bytes = 0
        let query = "SELECT * FROM \(db.schema).bucket_operations($1, $2, $3, $4, $5, $6)"
        let arguments: [PostgresArgument] = [
            .integer(checkpoint.streamID.rawValue), .names(positions.map(\.name.rawValue)),
            .integers(positions.map(\.after.rawValue)), .integer(checkpoint.opID.rawValue),
            .integer(Int64(limits.operations)), .integer(Int64(byteLimit)),
        ]
        let operations = PostgresStatements.Statement(sql: query, arguments: arguments) { row in
            guard !isFull else { return }
            let next = try Int(row.integer(0))
            if next != place {
                if place > 0 { chunks.endBucket() }
                guard chunks.begin() else {
                    isFull = true
                    return
                }
                place = next
            }
            func name(_ column: Int) throws -> [UInt8]? {
                guard let number = try row.optionalInteger(column) else { return [] }
                if let name = names[number] { return name }
                missing.insert(number)
                return nil
            }
            // Both, so that both are looked for together.
            let tables = try (name(5), name(7))
            guard let sourceTable = tables.0, let clientTable = tables.1 else { return }
            var operation = StoredOperation(
                opID: try row.integer(1),
                kind: Self.kind(try row.integer(2)),
                checksum: Checksum(truncating: try row.integer(3)),
                targetOp: try row.optionalInteger(4)
            )
            unsafe operation.sourceKey = row.memory(6)
            unsafe operation.rowID = row.memory(8)
            unsafe operation.data = row.memory(9)
            unsafe bytes += operation.data.count
            isFull = unsafe sourceTable.withUnsafeBytes { sourceTable in
                unsafe clientTable.withUnsafeBytes { clientTable in
                    unsafe operation.sourceTable = sourceTable
                    unsafe operation.table = clientTable
                    return !chunks.append(operation, of: positions[place - 1])
                }
            }
        }
        try db.run(together: [operations, last])
        guard missing.isEmpty else { return .missing(missing) }
        if place > 0 { chunks.endBucket() }
        // With buckets left, the last chunk says that the caller is to come again.
        if !isFull, place < positions.count { _ = chunks.begin() }
        return .chunks(chunks.finish(mayContinue: !isFull && bytes > byteLimit))
    }

    /// The kind of operation that a letter stands for.
    static func kind(_ letter: Int64) -> SyncOperation.Kind {
        switch UInt8(truncatingIfNeeded: letter) {
        case UInt8(ascii: "P"): .put
        case UInt8(ascii: "R"): .remove
        case UInt8(ascii: "C"): .clear
        default: .move
        }
    }
}
