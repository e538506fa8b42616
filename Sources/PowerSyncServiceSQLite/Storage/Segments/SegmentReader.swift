import PowerSyncProtocol
import PowerSyncServiceCore

/// Reads the operations of a segment, one after the other; see ``SegmentEncoder`` for the format.
///
/// The bytes belong to the caller, and must stay while operations are read.
///
/// `@safe`: it takes what is there, as ``StoredBytes`` do. The operations that it hands out lend their bytes.
@safe struct SegmentReader {
    private var rest: StoredBytes
    private var names: [UnsafeRawBufferPointer] = unsafe []
    private var lastOp: Int64 = 0

    /// Begins to read.
    ///
    /// - Throws: `Corruption` when the bytes are not those that were written.
    init(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) {
        rest = unsafe StoredBytes(bytes)
        guard rest.readByte() == SegmentEncoder.version else { throw StoredValues.Corruption() }
        let checksum = try rest.readInteger(as: UInt32.self)
        guard unsafe SegmentEncoder.checksum(of: rest.rest) == checksum else { throw StoredValues.Corruption() }
        for _ in 0..<(try rest.readNumber()) { unsafe names.append(try rest.readBytes()) }
    }

    /// The next operation, `nil` at the end.
    ///
    /// - Throws: `Corruption` when the bytes are not a segment.
    mutating func next() throws(StoredValues.Corruption) -> StoredOperation? {
        guard let letter = rest.readByte() else { return nil }
        let (opID, isTooLarge) = lastOp.addingReportingOverflow(Int64(truncatingIfNeeded: try rest.readNumber()))
        guard !isTooLarge, opID > lastOp else { throw StoredValues.Corruption() }
        lastOp = opID
        let checksum = Checksum(try rest.readInteger())
        let kind: SyncOperation.Kind
        switch letter {
        case UInt8(ascii: "P"): kind = .put
        case UInt8(ascii: "R"): kind = .remove
        case UInt8(ascii: "M"): kind = .move
        case UInt8(ascii: "C"): kind = .clear
        default: throw StoredValues.Corruption()
        }
        var operation = StoredOperation(opID: opID, kind: kind, checksum: checksum, targetOp: nil)
        switch kind {
        case .put, .remove:
            unsafe operation.sourceTable = try readName()
            unsafe operation.sourceKey = try rest.readBytes(count: 16)
            unsafe operation.table = try readName()
            let idCount = try rest.readNumber()
            let dataCount = kind == .put ? try rest.readNumber() : 0
            unsafe operation.rowID = try rest.readBytes(count: idCount)
            unsafe operation.data = try rest.readBytes(count: dataCount)
        case .move, .clear:
            let target = Int64(truncatingIfNeeded: try rest.readNumber())
            operation.targetOp = target == 0 ? nil : target
        }
        return operation
    }

    private mutating func readName() throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        let index = try rest.readNumber()
        guard unsafe index < UInt64(names.count) else { throw StoredValues.Corruption() }
        return unsafe names[Int(index)]
    }
}
