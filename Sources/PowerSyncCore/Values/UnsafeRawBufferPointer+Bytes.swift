import Foundation

extension UnsafeRawBufferPointer {
    /// Whether these are the same bytes as others.
    ///
    /// - Complexity: O(1) when the lengths differ.
    func hasBytes(of other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return unsafe memcmp(start, otherStart, count) == 0
    }
}

extension [UInt8] {
    /// Whether these are the same bytes as others.
    ///
    /// - Complexity: O(1) when the lengths differ.
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        unsafe withUnsafeBytes { unsafe $0.hasBytes(of: other) }
    }
}
