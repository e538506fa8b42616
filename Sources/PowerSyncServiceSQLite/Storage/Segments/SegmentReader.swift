import PowerSyncProtocol
import PowerSyncServiceCore

/// Reads the operations of a segment, one after the other; see ``SegmentEncoder`` for the format.
///
/// The bytes belong to the caller, and must stay while operations are read.
///
/// `@safe`: each length is compared with what is left before bytes are taken.
@safe struct SegmentReader {
    private var rest: Slice<UnsafeRawBufferPointer>
    private var names: [UnsafeRawBufferPointer] = unsafe []
    private var lastOp: Int64 = 0

    /// Begins to read.
    ///
    /// - Throws: `Corruption` when the bytes are not those that were written.
    init(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) {
        unsafe rest = bytes[...]
        guard unsafe rest.popFirst() == SegmentEncoder.version else { throw StoredValues.Corruption() }
        let checksum = try unsafe rest.readChecksum()
        guard unsafe SegmentEncoder.checksum(of: rest) == checksum else { throw StoredValues.Corruption() }
        for _ in unsafe 0..<(try rest.readNumber()) { unsafe names.append(try rest.readBytes()) }
    }

    /// The next operation, `nil` at the end.
    ///
    /// - Throws: `Corruption` when the bytes are not a segment.
    mutating func next() throws(StoredValues.Corruption) -> StoredOperation? {
        guard let letter = unsafe rest.popFirst() else { return nil }
        let (opID, isTooLarge) = unsafe lastOp.addingReportingOverflow(Int64(truncatingIfNeeded: try rest.readNumber()))
        guard !isTooLarge, opID > lastOp else { throw StoredValues.Corruption() }
        lastOp = opID
        let checksum = unsafe Checksum(try rest.readChecksum())
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
            let idCount = try unsafe rest.readNumber()
            let dataCount = unsafe kind == .put ? try rest.readNumber() : 0
            unsafe operation.rowID = try rest.readBytes(count: idCount)
            unsafe operation.data = try rest.readBytes(count: dataCount)
        case .move, .clear:
            let target = unsafe Int64(truncatingIfNeeded: try rest.readNumber())
            operation.targetOp = target == 0 ? nil : target
        }
        return operation
    }

    private mutating func readName() throws(StoredValues.Corruption) -> UnsafeRawBufferPointer {
        let index = try unsafe rest.readNumber()
        guard unsafe index < UInt64(names.count) else { throw StoredValues.Corruption() }
        return unsafe names[Int(index)]
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate mutating func readChecksum() throws(StoredValues.Corruption) -> UInt32 {
        let bytes = try unsafe readBytes(count: 4)
        return unsafe bytes.loadUnaligned(as: UInt32.self).littleEndian
    }
}
