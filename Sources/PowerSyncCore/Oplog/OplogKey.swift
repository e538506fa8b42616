/// The key of an operation, `<object_type>/<object_id>/<subkey>`, in a buffer that is used again for every operation
/// (docs/client-sync.md "Storing operations").
///
/// A missing subkey is the text `null`. Keys are only compared for equality inside one bucket, and never split: the
/// components may contain `/`.
struct OplogKey {
    private var bytes: [UInt8] = []

    /// Replaces the key.
    mutating func set(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, subkey: UnsafeRawBufferPointer?) {
        bytes.removeAll(keepingCapacity: true)
        unsafe bytes.append(contentsOf: type)
        bytes.append(UInt8(ascii: "/"))
        unsafe bytes.append(contentsOf: id)
        bytes.append(UInt8(ascii: "/"))
        if let subkey = unsafe subkey {
            unsafe bytes.append(contentsOf: subkey)
        } else {
            bytes.append(contentsOf: "null".utf8)
        }
    }

    /// Calls a closure with the bytes of the key, which are valid until it returns.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }

    /// A hash of the key in a bucket; equal keys have equal hashes in this process and any other.
    func hash(bucket: Int64) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe Self.hash($0, bucket: bucket) }
    }

    /// A multiply-and-fold hash over eight bytes at a time.
    ///
    /// Collisions cost a look-up, never correctness, so the speed counts and not the resistance against constructed
    /// keys.
    static func hash(_ bytes: UnsafeRawBufferPointer, bucket: Int64) -> UInt64 {
        var state = mix(UInt64(bitPattern: bucket) ^ 0x9e37_79b9_7f4a_7c15, UInt64(bytes.count) ^ 0xa076_1d64_78bd_642f)
        var offset = 0
        while offset &+ 8 <= bytes.count {
            state = unsafe mix(
                state ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
                0xe703_7ed1_a0b4_28db
            )
            offset &+= 8
        }
        var tail: UInt64 = 0
        while offset < bytes.count {
            tail = unsafe tail << 8 | UInt64(bytes[offset])
            offset &+= 1
        }
        return mix(state ^ tail, 0x8ebc_6af0_9c88_c6e3)
    }

    private static func mix(_ lhs: UInt64, _ rhs: UInt64) -> UInt64 {
        let product = lhs.multipliedFullWidth(by: rhs)
        return product.high ^ product.low
    }
}
