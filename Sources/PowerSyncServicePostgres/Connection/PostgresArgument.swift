import PowerSyncServiceCore

/// A value for a parameter of a statement, in PostgreSQL's binary form: integers most significant byte first, texts and bytes
/// as they are.
///
/// A text parameter ends with its first zero byte; these do not, so names may have any byte.
struct PostgresArgument: Sendable {
    /// The types that arguments have.
    enum ElementType: UInt32 {
        case bytes = 17
        case letter = 18
        case integer = 20
        case text = 25
        case uuid = 2950

        /// The type of arrays.
        var array: UInt32 {
            switch self {
            case .bytes: 1001
            case .letter: 1002
            case .integer: 1016
            case .text: 1009
            case .uuid: 2951
            }
        }
    }

    /// The most bytes of a value.
    static let maximumBytes = 1 << 30

    /// The number of the type.
    let type: UInt32
    /// The value; `nil` for NULL.
    let bytes: [UInt8]?

    /// A `bigint`.
    static func integer(_ value: Int64?) -> PostgresArgument {
        PostgresArgument(type: ElementType.integer.rawValue, bytes: value.map { [UInt8](bigEndian: $0) })
    }

    /// A `text`.
    static func text(_ value: String?) -> PostgresArgument {
        PostgresArgument(type: ElementType.text.rawValue, bytes: value.map { Array($0.utf8) })
    }

    /// A `bytea`.
    static func bytes(_ value: [UInt8]?) -> PostgresArgument {
        PostgresArgument(type: ElementType.bytes.rawValue, bytes: value)
    }

    /// An array.
    static func array(_ array: PostgresArray) -> PostgresArgument {
        PostgresArgument(type: array.type.array, bytes: array.encoded)
    }

    /// An array of `bigint`.
    static func integers(_ values: some Sequence<Int64>) -> PostgresArgument {
        var array = PostgresArray(.integer)
        for value in values { array.append(value) }
        return .array(array)
    }

    /// An array of `bytea` with the bytes of texts.
    static func names(_ values: some Sequence<String>) -> PostgresArgument { byteStrings(values.map(\.utf8)) }

    /// An array of `bytea`.
    static func byteStrings(_ values: some Sequence<some Collection<UInt8>>) -> PostgresArgument {
        var array = PostgresArray(.bytes)
        for value in values { array.append(value) }
        return .array(array)
    }
}

/// An array of one dimension that is sent in PostgreSQL's binary form.
///
///     array   = dimensions (Int32, 1) flags (Int32, 1 if there are NULLs) type of elements (UInt32) count (Int32)
///               lower bound (Int32, 1) element…
///     element = length (Int32, -1 for NULL) bytes
struct PostgresArray: Sendable {
    /// The type of the elements.
    let type: PostgresArgument.ElementType
    /// How many elements there are.
    private(set) var count = 0
    private var hasNull = false
    private var elements: [UInt8] = []

    /// Creates an empty array.
    init(_ type: PostgresArgument.ElementType) {
        self.type = type
    }

    /// Appends a `bigint`.
    mutating func append(_ value: Int64) {
        begin(8)
        elements.append(bigEndian: value)
    }

    /// Appends a text or bytes; NULL for `nil`.
    mutating func append(_ bytes: (some Collection<UInt8>)?) {
        guard let bytes else { return appendNull() }
        begin(bytes.count)
        elements.append(contentsOf: bytes)
    }

    /// Appends a `uuid`.
    mutating func append(_ key: ReplicaID) {
        begin(16)
        unsafe key.withBytes { unsafe elements.append(contentsOf: $0) }
    }

    /// Appends NULL.
    mutating func appendNull() {
        hasNull = true
        begin(-1)
    }

    private mutating func begin(_ length: Int) {
        count += 1
        elements.append(bigEndian: Int32(truncatingIfNeeded: length))
    }

    /// The binary form.
    fileprivate var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(elements.count + 20)
        // An empty one has no dimension.
        bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
        bytes.append(bigEndian: Int32(hasNull ? 1 : 0))
        bytes.append(bigEndian: type.rawValue)
        guard count > 0 else { return bytes }
        bytes.append(bigEndian: Int32(truncatingIfNeeded: count))
        bytes.append(bigEndian: Int32(1))
        bytes += elements
        return bytes
    }
}

extension [UInt8] {
    fileprivate init(bigEndian value: Int64) {
        self = []
        append(bigEndian: value)
    }

    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }
}
