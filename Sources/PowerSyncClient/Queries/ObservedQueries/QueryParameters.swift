/// Parameters of a query, as they are bound, to tell whether they have changed.
struct QueryParameters: Equatable {
    /// `nil` if one of them cannot be bound: then they are never equal.
    private let values: [StoredValue]?

    init(_ parameters: [(any Sendable)?]) {
        values = try? parameters.map { StoredValue(try PowerSyncDataType.value(of: $0)) }
    }

    static func == (lhs: QueryParameters, rhs: QueryParameters) -> Bool {
        guard let lhs = lhs.values, let rhs = rhs.values else { return false }
        return lhs.elementsEqual(rhs) { $0.isSame(as: $1) }
    }
}
