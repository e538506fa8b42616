package import PowerSyncProtocol

/// One bucket of a ``ModelService``.
package struct ModelBucket: Sendable {
    /// One operation of the bucket.
    package struct Operation: Sendable {
        package var opID: Int64
        package var kind: SyncOperation.Kind
        /// The row; `nil` for operations without one.
        package var row: String?
        /// The value of the row's column; `nil` for operations without one.
        package var value: String?
        package var checksum: Checksum
    }

    package let name: String
    package var priority: Int32
    /// Whether clients get it.
    package var isVisible = true
    /// What a client gets that begins at the start.
    private(set) var operations: [Operation] = []
    /// Every operation there ever was, as it was.
    private var history: [Operation] = []

    package init(name: String, priority: Int32) {
        self.name = name
        self.priority = priority
    }

    /// How a checkpoint describes the bucket.
    package var description: BucketDescription {
        BucketDescription(
            name: BucketName(name),
            checksum: operations.reduce(.zero) { $0 + $1.checksum },
            priority: Priority(priority),
            count: Int64(operations.count)
        )
    }

    package mutating func append(_ operation: Operation) {
        operations.append(operation)
        history.append(operation)
    }

    /// The rows after an operation, with their values.
    package func rows(at opID: Int64 = .max) -> [String: String] {
        var rows: [String: String] = [:]
        for operation in history where operation.opID <= opID {
            if let row = operation.row { rows[row] = operation.value }
        }
        return rows
    }

    /// The values that a row has ever had.
    package func values(of row: String) -> Set<String> {
        Set(history.lazy.filter { $0.row == row }.compactMap(\.value))
    }

    /// Replaces superseded operations by `MOVE`s, and those before the first that counts by a `CLEAR`.
    package mutating func compact() {
        var seen: Set<String> = []
        for index in operations.indices.reversed() {
            guard let row = operations[index].row else { continue }
            guard seen.insert(row).inserted else {
                operations[index].kind = .move
                operations[index].row = nil
                operations[index].value = nil
                continue
            }
        }
        let prefix = operations.prefix { $0.kind != .put }
        guard let last = prefix.last else { return }
        let clear = Operation(
            opID: last.opID,
            kind: .clear,
            checksum: prefix.reduce(.zero) { $0 + $1.checksum }
        )
        operations.replaceSubrange(prefix.indices, with: CollectionOfOne(clear))
    }
}
