package import PowerSyncProtocol

/// The priority of a stream or a partial sync.
///
/// **A lower code is the greater priority.**
///
/// ```swift
/// BucketPriority(0) > BucketPriority(3)  // true
/// ```
///
/// Encoded as a bare integer.
public struct BucketPriority: Comparable, Hashable, Sendable, Codable {
    /// The code: 0 (highest) to 3 (lowest), or `Int32.max` for a complete sync.
    public let priorityCode: Int32

    /// Creates a priority from its code.
    ///
    /// Any number can be compared with others. A subscription refuses what is not 0 to 3.
    public init(_ priorityCode: Int32) {
        self.priorityCode = priorityCode
    }

    /// Creates the public form of a priority that came from the network or the disk; negative ones count as 0.
    package init(_ priority: Priority) {
        self.init(max(0, priority.rawValue))
    }

    /// The engine's form.
    package var priority: Priority { Priority(priorityCode) }

    /// Whether the first priority is less urgent than the second one.
    public static func < (lhs: BucketPriority, rhs: BucketPriority) -> Bool {
        rhs.priorityCode < lhs.priorityCode
    }

    /// Stands for a complete sync, which includes all priorities.
    public static let fullSyncPriority = BucketPriority(Int32.max)

    /// The priority of streams that do not say one: 3.
    public static let defaultPriority = BucketPriority(3)

    /// Decodes a bare integer.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for negative numbers.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let code = try container.decode(Int32.self)
        guard code >= 0 else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "A priority code must not be negative: \(code)"
            )
        }
        self.init(code)
    }

    /// Encodes a bare integer.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(priorityCode)
    }
}

extension BucketPriority: CustomStringConvertible {
    /// `priority 1`, or `all priorities`.
    public var description: String {
        self == .fullSyncPriority ? "all priorities" : "priority \(priorityCode)"
    }
}
