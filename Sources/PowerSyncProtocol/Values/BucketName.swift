/// The opaque name of a bucket, for example `1#lists|0["u1"]`.
///
/// Names are compared byte by byte. (`String` compares by canonical equivalence, under which two different buckets
/// could be equal.)
package struct BucketName: RawRepresentable, Sendable {
    /// The name as text.
    package let rawValue: String

    /// Creates a bucket name from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a bucket name from its text.
    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

extension BucketName: Hashable {
    package static func == (lhs: BucketName, rhs: BucketName) -> Bool {
        lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        rawValue.hashUTF8(into: &hasher)
    }
}

extension BucketName: Comparable {
    /// Orders names by their UTF-8 bytes.
    package static func < (lhs: BucketName, rhs: BucketName) -> Bool {
        lhs.rawValue.utf8.lexicographicallyPrecedes(rhs.rawValue.utf8)
    }
}

extension BucketName: CustomStringConvertible {
    package var description: String { rawValue }
}

extension String {
    /// Feeds the UTF-8 bytes to a hasher, for types that compare texts byte by byte.
    func hashUTF8(into hasher: inout Hasher) {
        var text = self
        text.withUTF8 { bytes in
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        // No UTF-8 text contains this byte, so texts that follow each other cannot be confused.
        hasher.combine(0xff as UInt8)
    }
}
