import CZlib
import PowerSyncProtocol
import PowerSyncServiceCore

/// Makes segments: consecutive operations of one bucket in one value.
///
///     segment   = version (1 byte) CRC-32 of what follows (4 bytes) content
///     content   = number of names, name…, operation…
///     name      = length, UTF-8 bytes: ids of source tables, and names of tables on clients
///     operation = kind (1 byte) op id, above that of the previous operation (or 0), checksum (4 bytes), then
///     PUT       : source table (index of its name) key (16 bytes) table (index) length of id, length of data, id, data
///     REMOVE    : source table, key, table, length of id, id
///     MOVE,     : target op, or 0
///     CLEAR
///
/// Kinds are `P`, `R`, `M` and `C`. Integers of fixed size are little-endian, all others LEB128. Operations are in the
/// order of their op ids.
///
/// What a line needs is here as it is sent, but for the subkey, so reading is copying.
struct SegmentEncoder {
    /// The version of the encoding.
    static let version: UInt8 = 1
    /// Bytes before the content.
    static let headerBytes = 5

    private var names: [[UInt8]] = []
    private var operations: [UInt8] = []
    /// How many operations there are.
    private(set) var count = 0
    /// The first op id; 0 when there is none.
    private(set) var firstOp: Int64 = 0
    /// The last op id; 0 when there is none.
    private(set) var lastOp: Int64 = 0

    /// The bytes of the operations.
    var byteCount: Int { operations.count }

    /// Appends an operation with a higher op id than all before.
    ///
    /// - Throws: `Corruption` when its op id is not above that of the last one.
    mutating func append(_ operation: StoredOperation) throws(StoredValues.Corruption) {
        guard operation.opID > lastOp else { throw StoredValues.Corruption() }
        switch operation.kind {
        case .put: operations.append(UInt8(ascii: "P"))
        case .remove: operations.append(UInt8(ascii: "R"))
        case .move: operations.append(UInt8(ascii: "M"))
        case .clear: operations.append(UInt8(ascii: "C"))
        }
        operations.append(number: UInt64(operation.opID) - UInt64(lastOp))
        operations.append(littleEndian: operation.checksum.rawValue)
        switch operation.kind {
        case .put, .remove:
            unsafe operations.append(number: index(of: operation.sourceTable))
            unsafe ReplicaID(bytes: operation.sourceKey).withBytes { unsafe operations.append(contentsOf: $0) }
            unsafe operations.append(number: index(of: operation.table))
            unsafe operations.append(number: operation.rowID.count)
            if operation.kind == .put { unsafe operations.append(number: operation.data.count) }
            unsafe operations.append(contentsOf: operation.rowID)
            if operation.kind == .put { unsafe operations.append(contentsOf: operation.data) }
        case .move, .clear:
            operations.append(number: UInt64(operation.targetOp ?? 0))
        }
        if count == 0 { firstOp = operation.opID }
        lastOp = operation.opID
        count += 1
    }

    /// The segment of all operations that were appended.
    func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.headerBytes)
        bytes.reserveCapacity(operations.count + 256)
        bytes[0] = Self.version
        bytes.append(number: names.count)
        for name in names {
            bytes.append(number: name.count)
            bytes.append(contentsOf: name)
        }
        bytes.append(contentsOf: operations)
        let checksum = unsafe bytes.withUnsafeBytes {
            unsafe Self.checksum(of: UnsafeRawBufferPointer(rebasing: $0.dropFirst(Self.headerBytes)))
        }
        for index in 0..<4 { bytes[1 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
        return bytes
    }

    /// The CRC-32 of some bytes.
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        let start = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
        return unsafe UInt32(truncatingIfNeeded: crc32_z(0, start, bytes.count))
    }

    private mutating func index(of name: UnsafeRawBufferPointer) -> Int {
        // There are a few, for all operations of a bucket.
        if let known = names.firstIndex(where: { unsafe $0.elementsEqual(name) }) { return known }
        unsafe names.append(Array(name))
        return names.count - 1
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: UInt32) {
        for shift in stride(from: 0, to: 32, by: 8) { append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }
}
