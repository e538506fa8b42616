/// Calls `body` with texts that end with zero bytes, in an array that ends with a null pointer.
func withCStrings<Result>(
    _ texts: [String?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    var bytes: [CChar] = []
    let offsets = texts.map { text -> Int? in
        guard let text else { return nil }
        defer { bytes += text.utf8CString }
        return bytes.count
    }
    return unsafe bytes.withUnsafeBufferPointer { bytes in
        let pointers =
            unsafe offsets.map { offset in
                unsafe offset.flatMap { offset in unsafe bytes.baseAddress.map { unsafe $0 + offset } }
            } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}

/// Calls `body` with the memory of values; a null pointer stands for NULL.
func withPointers<Result>(
    _ values: [[UInt8]?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    // One copy of everything, which has a zero byte more: an empty value is no null pointer.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(values.reduce(1) { $0 + ($1?.count ?? 0) })
    let offsets = values.map { value -> Int? in
        guard let value else { return nil }
        defer { bytes += value }
        return bytes.count
    }
    bytes.append(0)
    return unsafe bytes.withUnsafeBytes { bytes in
        let start = unsafe bytes.bindMemory(to: CChar.self).baseAddress
        let pointers =
            unsafe offsets.map { offset in unsafe offset.flatMap { offset in unsafe start.map { unsafe $0 + offset } } }
            + [nil]
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
