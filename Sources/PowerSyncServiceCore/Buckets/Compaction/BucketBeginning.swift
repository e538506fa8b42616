import PowerSyncProtocol

/// Operations at the beginning of a bucket that leave no row behind: compaction puts one `CLEAR` in their place.
package struct BucketBeginning {
    /// How many operations there are.
    package private(set) var count = 0
    /// The op id of the last one.
    package private(set) var lastOp: Int64 = 0
    private var hasClear = false
    private var checksum = Checksum.zero
    private var targetOp: Int64?

    /// There are no operations.
    package init() {}

    /// Whether one `CLEAR` is better.
    ///
    /// A single operation is not worth one, which makes clients drop what they have.
    package var isWorthClearing: Bool {
        let others = count - (hasClear ? 1 : 0)
        return others >= 2 || others == 1 && hasClear
    }

    /// What stands for the operations.
    package var clear: StoredOperation {
        StoredOperation(opID: lastOp, kind: .clear, checksum: checksum, targetOp: targetOp)
    }

    /// Adds the next operation.
    package mutating func add(_ operation: StoredOperation) {
        count += 1
        lastOp = operation.opID
        if operation.kind == .clear { hasClear = true }
        checksum += operation.checksum
        if let target = operation.targetOp { targetOp = max(targetOp ?? 0, target) }
    }
}
