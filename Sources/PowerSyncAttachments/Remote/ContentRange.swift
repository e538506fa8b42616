import PowerSyncClient

/// The value of a `Content-Range` header: `bytes 5-9/10`, or `bytes 5-9/*` when the size is not known (RFC 9110, 14.4).
struct ContentRange: Equatable {
    /// The first and the last byte.
    let bytes: ClosedRange<Int64>
    /// The size of the whole file.
    let total: Int64?

    /// Parses a header; `nil` when it is malformed.
    init?(_ header: String) {
        let words = header.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last
        else { return nil }
        bytes = first...last
        if parts[1] == "*" {
            total = nil
        } else {
            guard let total = Int64(digits: parts[1]), last < total else { return nil }
            self.total = total
        }
    }
}

extension Int64 {
    /// A number of decimal digits only: no sign, no spaces.
    init?(digits: some StringProtocol) {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.init(String(digits))
    }
}
