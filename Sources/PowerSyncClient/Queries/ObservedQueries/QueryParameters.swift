import Foundation

/// Parameters of a query, as they are bound, to tell whether they have changed.
struct QueryParameters: Equatable {
    private enum Value: Equatable {
        case null
        case integer(Int64)
        /// By its bits: NaN, too, is what it was.
        case real(UInt64)
        case text(String)
        case blob(Data)
    }

    /// `nil` if one of them cannot be bound: then they are never equal.
    private let values: [Value]?

    init(_ parameters: [(any Sendable)?]) {
        values = try? parameters.map { parameter in
            switch try PowerSyncDataType.value(of: parameter) {
            case nil: .null
            case .bool(let value)?: .integer(value ? 1 : 0)
            case .int64(let value)?: .integer(value)
            case .int32(let value)?: .integer(Int64(value))
            case .double(let value)?: .real(value.bitPattern)
            case .string(let value)?: .text(value)
            case .data(let value)?: .blob(value)
            }
        }
    }

    static func == (lhs: QueryParameters, rhs: QueryParameters) -> Bool {
        guard let lhs = lhs.values, let rhs = rhs.values else { return false }
        return lhs == rhs
    }
}
